// Shifted and mirrored samples on GPUs.

#include "gpu.h"
#include "training/seen_samples.h"

namespace mgcompare::testing {
namespace {

class CudaAugmentation : public OnGpu {};

TEST_F(CudaAugmentation, IsTheSameForAnyNumberOfRanks) { expect_the_same_samples(DeviceKind::cuda); }

// Up to the rounding of fused multiplications and additions.
TEST_F(CudaAugmentation, AgreesWithTheCpuTwin) {
  const Dataset set = odd_samples(ElementType::uint8);
  const auto gpu = seen_by(2, DeviceKind::cuda, set, DataLocation::device, 20), cpu = seen_by(2, DeviceKind::cpu, set, DataLocation::device, 20);
  ASSERT_EQ(gpu.size(), cpu.size());
  for (const auto& [place, values] : cpu)
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(gpu.at(place)[i], values[i], 1e-5);
}

}  // namespace
}  // namespace mgcompare::testing
