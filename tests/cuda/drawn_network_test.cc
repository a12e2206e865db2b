// Drawn networks against the CPU twin.

#include "model/drawn_network.h"

#include <gtest/gtest.h>

#include "gpu.h"

namespace mgcompare::testing {
namespace {

class DrawnNetworksOnGpu : public OnGpu, public ::testing::WithParamInterface<KernelChoice> {};

TEST_P(DrawnNetworksOnGpu, AgreeWithTheCpuTwin) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const DrawnNetwork drawn(seed);
    SCOPED_TRACE(drawn.text());
    const Case test = drawn.smooth();
    Numerics numerics = test.numerics;
    numerics.kernels = GetParam();
    Rig rig({"test", test.layers}, test.samples(), 64, test.numerics);
    GpuRig gpu(rig, numerics);
    // The last batch of an epoch may have one sample.
    for (const std::size_t count : {17, 60, 1}) {
      const std::vector<float> expected = rig.gradient(1, count, {true, 11, 2}), found = gpu.gradient(1, count, {true, 11, 2});
      // Of one row, batch normalisation leaves rounding errors only.
      if (count > 1) {
        EXPECT_LT(relative_error(found, expected), 2e-3) << count << " samples";
      }
    }
    if (rig.spec.buffers > 0) {
      EXPECT_LT(relative_error(to_host(gpu.device, gpu.network->buffers()), to_host(rig.device, rig.network->buffers())), 1e-4);
    }
    EXPECT_LT(relative_error(gpu.logits(3, 60, {false, 1, 1}), rig.logits(3, 60, {false, 1, 1})), 1e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(All, DrawnNetworksOnGpu, ::testing::Values(KernelChoice::fused, KernelChoice::library),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace mgcompare::testing
