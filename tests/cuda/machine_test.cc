// The doctor and error handling on real GPUs. Skipped on machines without GPUs.

#include <gmock/gmock.h>

#include <array>
#include <map>
#include <string>

#include "cuda/capability.h"
#include "cuda/device.h"
#include "cuda/versions.h"
#include "check/doctor.h"
#include "gpu.h"
#include "modules/platform_host.h"

namespace mgcompare::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CudaMachine : public OnGpu {};

TEST_F(CudaMachine, IdleMemoryOfAnEarlierTrialMakesRoom) {
  constexpr std::size_t kGiB = std::size_t{1} << 30;
  cuda::Gpu own;
  cuda::CudaDevice device(own);
  std::size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  if (free < 4 * kGiB) GTEST_SKIP() << "somebody else uses this GPU";
  const std::size_t most = free - kGiB;
  // A free block is reused for its own size only; windows and library memory have separate lists.
  device.release(device.allocate(most));
  device.release(device.allocate(most - (1 << 20)));
  const cuda::WindowMemory window(device, 2 * kGiB / sizeof(float));
  EXPECT_EQ(window.span().bytes(), 2 * kGiB);
  own.memory.free_idle();
}

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
    const LinkMeasurements links = measure_links(platform(DeviceKind::cuda), {devices, groups, brief}, [](const std::string&) {});
    EXPECT_THAT(links.problems, IsEmpty());
    EXPECT_EQ(links.pairs.size(), devices * (devices - 1));
    for (const PairLink& pair : links.pairs) {
      EXPECT_TRUE(pair.intact) << pair.from << " to " << pair.to;
      EXPECT_GT(pair.bytes_per_second, 1e9);
    }
    for (const DeviceFigures& device : links.devices) EXPECT_GT(device.bytes_per_second_to_device, 1e9);
    EXPECT_EQ(links.all_reduces.size(), groups.size() * (brief ? 7 : 8));
  }
}

TEST_F(CudaMachine, TheDoctorTimesEveryCollectiveForPredictions) {
  if (gpu_count() < 2) GTEST_SKIP() << "needs two GPUs";
  const LinkMeasurements links = measure_links(platform(DeviceKind::cuda), {2, {2}, true, timed_calls()}, [](const std::string&) {});
  EXPECT_EQ(links.others.size(), (timed_calls().size() - 1) * links.all_reduces.size());
  // Of all sizes together: of a small call alone not even the sign is sure where others use the GPUs.
  std::map<std::string, double> seconds;
  for (const CollectiveTime& time : links.others) seconds[time.call] += time.seconds;
  EXPECT_EQ(seconds.size(), timed_calls().size() - 1);
  for (const auto& [call, all] : seconds) EXPECT_GT(all, 50e-6) << call;
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
  // The error is cleared: the next allocation and its work succeed.
  void* memory = device->allocate(1 << 20);
  device->zero(memory, 1 << 20);
  device->synchronize();
  device->release(memory);
}

TEST_F(CudaMachine, ADeviceThatIsNotThereIsASentence) {
  EXPECT_THROW(platform(DeviceKind::cuda).open(gpu_count()), Error);
}

// The following tests need no GPU.
TEST(CudaMemory, WhatIsIdleIsGivenBackAndAskedForAnew) {
  static int given = 0;
  given = 0;
  // A driver, if present, refuses to free memory that is not its own.
  static std::array<char, 4> blocks;
  cuda::CachingAllocator memory([](std::size_t) -> void* { return &blocks.at(static_cast<std::size_t>(given++)); });
  void* const first = memory.allocate(100);
  memory.release(first);
  EXPECT_EQ(memory.allocate(100), first) << "what is idle is used again";
  memory.release(first);
  memory.free_idle();
  EXPECT_NE(memory.allocate(100), first);
  EXPECT_EQ(given, 2);
}

TEST(CudaMemory, WantOfMemoryIsTriedOnceMoreWithoutWhatIsIdle) {
  // A driver, if present, refuses to free memory that is not its own.
  static std::array<char, 4> blocks;
  static std::size_t given = 0;
  given = 0;
  const auto source = [](std::size_t) -> void* { return &blocks.at(given++); };
  cuda::Gpu first{.memory = cuda::CachingAllocator(source)}, second{.memory = cuda::CachingAllocator(source)};
  for (cuda::Gpu* const gpu : {&first, &second}) gpu->memory.release(gpu->memory.allocate(100));
  int calls = 0;
  const auto full_at_first = [&] {
    if (++calls == 1) throw OutOfMemory(std::size_t{2} << 30, 1 << 20, std::size_t{4} << 30);
    return calls;
  };
  EXPECT_EQ(cuda::retry_without_idle_memory({&first, &second}, full_at_first), 2);
  for (cuda::Gpu* const gpu : {&first, &second}) gpu->memory.allocate(100);
  EXPECT_EQ(given, 4u) << "nothing is idle any more on either";
  EXPECT_THROW(cuda::retry_without_idle_memory({&first}, [&]() -> int { throw OutOfMemory(1, 1, 1); }), OutOfMemory);
  EXPECT_THROW(cuda::retry_without_idle_memory({&first}, [&]() -> int { throw Error("something else"); }), Error);
}

TEST(CudaErrors, OfNcclAreNotAllWantOfMemory) {
  EXPECT_FALSE(cuda::ran_out_of_memory(ncclSuccess, 1 << 20, "testing"));
  EXPECT_FALSE(cuda::ran_out_of_memory(ncclInvalidArgument, std::size_t{1} << 50, "testing"));
  try {
    cuda::check(ncclInvalidUsage, "testing");
    FAIL();
  } catch (const OutOfMemory&) {
    FAIL() << "nothing was asked for";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("NCCL reported '"));
    EXPECT_THAT(error.what(), HasSubstr("while testing"));
  }
}

TEST(Capability, SaysWhatAGpuCannot) {
  EXPECT_EQ(cuda::precisions_of(75), std::vector<std::string>{"fp32"});
  EXPECT_THAT(cuda::precisions_of(80), ::testing::Contains("tf32"));
  EXPECT_EQ(cuda::capability_text(cuda::min_capability()).find('.'),
            cuda::min_capability() < 100 ? std::size_t{1} : std::size_t{2});
  EXPECT_THAT(cuda::no_code(61), HasSubstr("has compute capability 6.1, for which this program has no code"));
  EXPECT_THAT(cuda::no_code(61), HasSubstr("CMAKE_CUDA_ARCHITECTURES=61"));
}

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
