#include "mgcompare/arithmetic.h"

#include <gtest/gtest.h>

#include <vector>

#include "sdk/heap_device.h"

namespace mgcompare {
namespace {

using testing::HeapDevice;

TEST(Arithmetic, ForEachVisitsEveryIndexOnce) {
  HeapDevice device;
  const Array<float> seen = device_array<float>(device, 1001);
  float* data = seen.data();
  for_each(device, seen.size(), [=] MGCOMPARE_FUNCTION(std::size_t i) { data[i] += 1; });
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], 1);
}

TEST(Arithmetic, AnotherKindThanItWasCompiledForIsASentence) {
  HeapDevice gpu(DeviceKind::cuda);
  EXPECT_THROW(for_each(gpu, 1, [](std::size_t) {}), Error);
}

TEST(Arithmetic, SegmentedReduceTakesRowsAndColumns) {
  HeapDevice device;
  // A 3 x 4 matrix 0..11: rows, then columns, then nothing.
  std::vector<Segment> segments = {{0, 4, 1}, {4, 4, 1}, {8, 4, 1}, {0, 3, 4}, {3, 3, 4}, {5, 0, 1}};
  const Array<float> sums = device_array<float>(device, segments.size());
  segmented_reduce(device, Span<const Segment>(segments.data(), segments.size()), sums.span(),
                   [](std::size_t i) { return static_cast<float>(i); });
  const std::vector<float> expected = {6, 22, 38, 12, 21, 0};
  for (std::size_t s = 0; s < expected.size(); ++s) EXPECT_EQ(sums[s], expected[s]);
}

}  // namespace
}  // namespace mgcompare
