// The SDK's arithmetic gives the same results on a GPU as on a CPU.

#include <vector>

#include "mgcompare/arithmetic.h"
#include "on_gpu.h"
#include "plugins/onebit/pack_bits.h"
#include "plugins/top_k/select.h"

namespace mgcompare::testing {
namespace {

struct Pair {
  float sum = 0;
  std::uint32_t count = 0;
  MGCOMPARE_FUNCTION Pair& operator+=(const Pair& other) {
    sum += other.sum;
    count += other.count;
    return *this;
  }
};

// Rows of 1000 elements, columns, a short segment, an empty one.
std::vector<Segment> segments() {
  std::vector<Segment> made = {{5, 0, 1}, {17, 3, 1}, {0, 33, 100}};
  for (std::uint32_t row = 0; row < 40; ++row) made.push_back({row * 1000, 1000, 1});
  return made;
}

class CudaArithmetic : public OnGpu {};

void add_one(Device& device, Span<float> values) {
  float* data = values.data();
  for_each(device, values.size(), [=] MGCOMPARE_FUNCTION(std::size_t i) { data[i] += 1; });
}

void sum_pairs(Device& device, Span<const Segment> all, Span<Pair> out) {
  segmented_reduce(device, all, out, [=] MGCOMPARE_FUNCTION(std::size_t i) { return Pair{static_cast<float>(i % 7), 1}; });
}

void thirds(Device& device, std::size_t n, Span<std::uint32_t> indices, Span<std::uint32_t> count) {
  const Array<std::uint64_t> scratch(device, top_k::selection_scratch(n));
  top_k::select(device, n, [=] MGCOMPARE_FUNCTION(std::size_t i) { return i % 3 == 1; }, indices, count, scratch.span());
}

void odd_bits(Device& device, Span<const Segment> all, Span<const std::uint32_t> first, Span<std::uint32_t> words) {
  onebit::pack_bits(device, all, first, words, [=] MGCOMPARE_FUNCTION(std::size_t i) { return (i * i / 3) % 2 == 1; });
}

TEST_F(CudaArithmetic, ForEachVisitsEveryIndexOnce) {
  cuda::CudaDevice device(gpu(0));
  const Array<float> seen(device, 1'000'003);
  add_one(device, seen.span());
  EXPECT_EQ(to_host(device, seen.span()), std::vector<float>(seen.size(), 1.0f));
}

TEST_F(CudaArithmetic, SegmentedReduceAddsStructures) {
  cuda::CudaDevice device(gpu(0));
  const std::vector<Segment> all = segments();
  const Array<Segment> on_device = to_device(device, all);
  const Array<Pair> sums(device, all.size());
  sum_pairs(device, on_device.span(), sums.span());
  const std::vector<Pair> found = to_host(device, sums.span());
  for (std::size_t s = 0; s < all.size(); ++s) {
    float expected = 0;
    for (std::uint32_t j = 0; j < all[s].count; ++j) expected += static_cast<float>((all[s].begin + j * all[s].stride) % 7);
    EXPECT_EQ(found[s].sum, expected) << s;
    EXPECT_EQ(found[s].count, all[s].count) << s;
  }
}

TEST_F(CudaArithmetic, SelectKeepsOrderAndCountsBeyondItsRoom) {
  cuda::CudaDevice device(gpu(0));
  const Array<std::uint32_t> indices(device, 5000), count(device, 1);
  thirds(device, 100'000, indices.span(), count.span());
  EXPECT_EQ(to_host(device, count.span())[0], 33'333u);
  const std::vector<std::uint32_t> found = to_host(device, indices.span());
  for (std::uint32_t k = 0; k < found.size(); ++k) ASSERT_EQ(found[k], 3 * k + 1);
  thirds(device, 0, indices.span(), count.span());
  EXPECT_EQ(to_host(device, count.span())[0], 0u);
}

TEST_F(CudaArithmetic, PackBitsBeginsEverySegmentAtAWord) {
  cuda::CudaDevice device(gpu(0));
  const std::vector<Segment> all = segments();
  std::vector<std::uint32_t> first;
  std::uint32_t words = 0;
  for (const Segment& segment : all) {
    first.push_back(words);
    words += (segment.count + 31) / 32;
  }
  const Array<Segment> on_device = to_device(device, all);
  const Array<std::uint32_t> firsts = to_device(device, first), packed(device, words);
  odd_bits(device, on_device.span(), firsts.span(), packed.span());
  const std::vector<std::uint32_t> found = to_host(device, packed.span());
  for (std::size_t s = 0; s < all.size(); ++s) {
    for (std::uint32_t j = 0; j < all[s].count; ++j) {
      const std::size_t i = all[s].begin + static_cast<std::size_t>(j) * all[s].stride;
      ASSERT_EQ((found[first[s] + j / 32] >> (j % 32)) & 1u, (i * i / 3) % 2) << s << ", " << j;
    }
  }
}

}  // namespace
}  // namespace mgcompare::testing
