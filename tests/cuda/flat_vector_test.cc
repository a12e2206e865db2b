// A network's flat vector that does not begin at a 16-byte boundary, and broadcasts of it: its first bytes are sent apart, by ranks whose
// memory is aligned too.

#include <cstdint>
#include <map>

#include "base/abortable_barrier.h"
#include "base/rank_threads.h"
#include "gpu.h"
#include "model/networks.h"
#include "modules/platform_host.h"

namespace mgcompare::testing {
namespace {

class CudaFlatVector : public OnGpu {};

constexpr std::size_t kRanks = 2;
constexpr std::size_t kFloats = 500'003;  // those after an unaligned beginning are no multiple of 16 bytes either

float value(int root, std::size_t place) { return static_cast<float>(root * 1000) + static_cast<float>(place % 997); }

TEST_F(CudaFlatVector, IsBroadcastWhereverItBegins) {
  if (gpu_count() < static_cast<int>(kRanks)) GTEST_SKIP() << "needs two GPUs";
  Platform& gpus = platform(DeviceKind::cuda);
  for (std::size_t begin = 0; begin < 4; ++begin) {
    std::vector<std::unique_ptr<Device>> devices;
    for (int rank = 0; rank < static_cast<int>(kRanks); ++rank) {
      devices.push_back(gpus.open(rank));
      dynamic_cast<cuda::CudaDevice&>(*devices.back()).set_vectors({begin, begin + kFloats});
    }
    const std::unique_ptr<Collectives> group = gpus.connect({devices[0].get(), devices[1].get()});
    AbortableBarrier barrier(kRanks);
    run_ranks(
        kRanks,
        [&](int rank) {
          cuda::check(cudaSetDevice(rank), "choosing a device");
          Device& device = *devices[static_cast<std::size_t>(rank)];
          const Array<float> vectors(device, begin + kFloats), aligned(device, kFloats);
          const std::unique_ptr<GraphRecorder> recorder = gpus.recorder(device, 1);
          for (int root = 0; root < static_cast<int>(kRanks); ++root)
            for (const bool captured : {false, true}) {
              // The other rank receives it in memory of its own, as replicas do that have no current weights.
              const Vec data = rank == root ? vectors.span().slice({begin, begin + kFloats}) : aligned.span();
              std::vector<float> values(kFloats);
              for (std::size_t i = 0; i < kFloats; ++i) values[i] = rank == root ? value(root, i) : -1;
              device.copy_to_device(data.data(), values.data(), data.bytes());
              device.synchronize();
              barrier.wait();
              if (captured) recorder->begin();
              group->broadcast(rank, data.data(), data.bytes(), root);
              const std::size_t graph = captured ? recorder->end() : 0;
              barrier.wait();
              if (captured) recorder->repeat(graph);
              const std::vector<float> found = to_host(device, data);
              std::size_t right = 0;
              while (right < kFloats && found[right] == value(root, right)) ++right;
              EXPECT_EQ(right, kFloats) << "from " << begin << ", rank " << rank << ", root " << root << (captured ? ", captured" : "");
              barrier.wait();
            }
        },
        [&] { barrier.abort(), group->abort(); });
  }
}

// The layers of LeNet before its large dense one have 25,570 parameters, so its vectors begin at two floats.
TEST_F(CudaFlatVector, IsWhereTheDeviceSays) {
  Rig rig(lenet(), {1, 28, 28}, 10, 8);
  const GpuRig gpu(rig, {});
  const cuda::CudaDevice& device = gpu.device;
  EXPECT_EQ(device.vectors().begin, 2u);
  EXPECT_EQ(device.vectors().size(), gpu.network->weights().size());
  for (const Vec& vector : {gpu.network->weights(), gpu.network->gradients()})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(vector.data()) / sizeof(float) % 4, device.vectors().begin);
}

// The following test needs no GPU.
TEST(UnalignedHead, EndsAtABoundaryInAFlatVectorOnly) {
  constexpr std::size_t kBytes = kFloats * sizeof(float);
  for (const auto& [begin, head] : std::map<std::size_t, std::size_t>{{0, 0}, {1, 12}, {2, 8}, {3, 4}}) {
    EXPECT_EQ(cuda::unaligned_head({begin, begin + kFloats}, kBytes), head);
    EXPECT_EQ(cuda::unaligned_head({begin, begin + kFloats}, kBytes - 4), 0u) << "not the whole vector";
    EXPECT_EQ(cuda::unaligned_head({begin, begin + 1000}, 4000), 0u) << "too small";
  }
}

}  // namespace
}  // namespace mgcompare::testing
