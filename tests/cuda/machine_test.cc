// The doctor and errors on real GPUs; skips where there are none.

#include <gmock/gmock.h>

#include "cuda/versions.h"
#include "doctor.h"
#include "gpu.h"
#include "platforms.h"

namespace mgcompare::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CudaMachine : public OnGpu {};

TEST_F(CudaMachine, DevicesHaveAddressesAndNotes) {
  const std::vector<DeviceInfo> devices = platform(DeviceKind::cuda).devices();
  ASSERT_EQ(static_cast<int>(devices.size()), gpu_count());
  for (const DeviceInfo& device : devices) {
    EXPECT_THAT(device.id, ::testing::MatchesRegex("[0-9a-fA-F]+:[0-9a-fA-F]+:[0-9a-fA-F]+\\.0"));
    EXPECT_GT(device.memory, 0u);
    EXPECT_GE(device.notes.size(), 2u);
  }
}

TEST_F(CudaMachine, TheDoctorFindsEveryLinkIntact) {
  const auto devices = static_cast<std::size_t>(gpu_count());
  std::vector<std::size_t> groups;
  for (std::size_t count = 2; count <= devices; ++count) groups.push_back(count);
  for (const bool brief : {true, false}) {
    const Links links = examine(platform(DeviceKind::cuda), {devices, groups, brief}, [](const std::string&) {});
    EXPECT_THAT(links.problems, IsEmpty());
    EXPECT_EQ(links.pairs.size(), devices * (devices - 1));
    for (const PairLink& pair : links.pairs) {
      EXPECT_TRUE(pair.intact) << pair.from << " to " << pair.to;
      EXPECT_GT(pair.bytes_per_second, 1e9);
    }
    for (const DeviceFigures& device : links.devices) EXPECT_GT(device.bytes_per_second_to_device, 1e9);
    EXPECT_EQ(links.all_reduces.size(), groups.size() * (brief ? 6 : 8));
  }
}

TEST_F(CudaMachine, MoreMemoryThanThereIsIsSaidWithFigures) {
  const std::unique_ptr<Device> device = platform(DeviceKind::cuda).open(0);
  const std::size_t asked = platform(DeviceKind::cuda).devices()[0].memory * 2;
  try {
    device->allocate(asked);
    FAIL() << "it was given";
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(error.what(), HasSubstr("free"));
    EXPECT_THAT(error.what(), HasSubstr("total"));
  }
  // What failed is forgotten: the next allocation and its work are fine.
  void* memory = device->allocate(1 << 20);
  device->zero(memory, 1 << 20);
  device->synchronize();
  device->release(memory);
}

TEST_F(CudaMachine, ADeviceThatIsNotThereIsASentence) {
  EXPECT_THROW(platform(DeviceKind::cuda).open(gpu_count()), Error);
}

// No GPU is needed to say so.
TEST(CudaErrors, ThatTellOfALostDeviceAndOfMemoryHaveTheirKinds) {
  EXPECT_THROW(cuda::check(cudaErrorECCUncorrectable, "testing"), DeviceLost);
  EXPECT_THROW(cuda::check(cudaErrorNvlinkUncorrectable, "testing"), DeviceLost);
  EXPECT_THROW(cuda::check(cudaErrorMemoryAllocation, "testing"), OutOfMemory);
  EXPECT_THROW(cuda::check(CUDNN_STATUS_ALLOC_FAILED, "testing"), OutOfMemory);
  EXPECT_THROW(cuda::check(CUBLAS_STATUS_ALLOC_FAILED, "testing"), OutOfMemory);
  try {
    cuda::check(cudaErrorIllegalAddress, "testing");
    FAIL();
  } catch (const DeviceLost&) {
    FAIL() << "the strategy is at fault, not the device";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("while testing"));
  }
}

}  // namespace
}  // namespace mgcompare::testing
