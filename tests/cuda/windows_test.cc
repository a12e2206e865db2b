// Collectives of which one side is the exchanged vector, a window of NCCL, and the other is ordinary memory.

#include "base/abortable_barrier.h"
#include "base/rank_threads.h"
#include "gpu.h"
#include "modules/platform_host.h"

namespace mgcompare::testing {
namespace {

class CudaWindows : public OnGpu {};

constexpr std::size_t kWindowRanks = 2;
// NCCL uses registered memory directly from 1 MiB for each rank.
constexpr std::size_t kPart = 1u << 20, kWhole = kWindowRanks * kPart;  // floats

struct Vectors {
  Vec window;
  Array<float> whole, part;
};

float value(std::size_t rank, std::size_t place) { return static_cast<float>(rank * 1000 + place % 997); }

struct Call {
  const char* name;
  void (*make)(Collectives& group, int rank, const Vectors& of);
  // What the rank has then in its part, from values of its window.
  float (*expected)(std::size_t rank, std::size_t place);
};

const Counts kSizes{kPart * sizeof(float), kPart * sizeof(float)};
const Counts kUnequal{kPart / 2, kWhole - kPart / 2};

// Ranks with roles of their own, so that one has the window and the other has not.
const Call kCalls[] = {
    {"scatter", [](Collectives& group, int rank, const Vectors& of) { group.scatter(rank, of.window.data(), of.part.data(), kSizes, 0); },
     [](std::size_t rank, std::size_t place) { return value(0, rank * kPart + place); }},
    {"gather and scatter",
     [](Collectives& group, int rank, const Vectors& of) {
       group.gather(rank, of.window.data(), of.whole.data(), kSizes, 0);
       group.scatter(rank, of.whole.data(), of.part.data(), kSizes, 0);
     },
     [](std::size_t rank, std::size_t place) { return value(rank, place); }},
    {"all_to_all",
     [](Collectives& group, int rank, const Vectors& of) {
       group.all_to_all(rank, of.window.data(), kSizes, of.whole.data(), kSizes);
       group.scatter(rank, of.whole.data(), of.part.data(), kSizes, 1);
     },
     [](std::size_t rank, std::size_t place) { return value(rank, kPart + place); }},
    {"reduce_scatter",
     [](Collectives& group, int rank, const Vectors& of) { group.reduce_scatter(rank, of.window.data(), of.part.data(), {kPart, kPart}, Type::float32); },
     [](std::size_t rank, std::size_t place) { return value(0, rank * kPart + place) + value(1, rank * kPart + place); }},
    {"unequal reduce_scatter and all_gather",
     [](Collectives& group, int rank, const Vectors& of) {
       const std::size_t begin = rank == 0 ? 0 : kUnequal[0];
       group.reduce_scatter(rank, of.window.data(), of.whole.data() + begin, kUnequal, Type::float32);
       group.all_gather(rank, of.whole.data() + begin, of.window.data(), {kUnequal[0] * sizeof(float), kUnequal[1] * sizeof(float)});
       group.scatter(rank, of.window.data(), of.part.data(), kSizes, 1);
     },
     [](std::size_t rank, std::size_t place) { return value(0, rank * kPart + place) + value(1, rank * kPart + place); }},
};

// Calls alone and in a captured sequence.
TEST_F(CudaWindows, MixWithOrdinaryMemory) {
  if (gpu_count() < static_cast<int>(kWindowRanks)) GTEST_SKIP() << "needs two GPUs";
  Platform& gpus = platform(DeviceKind::cuda);
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<ExchangedVector>> exchanged;
  std::vector<Vectors> vectors;
  for (std::size_t rank = 0; rank < kWindowRanks; ++rank) {
    devices.push_back(gpus.open(static_cast<int>(rank)));
    exchanged.push_back(gpus.exchanged_vector(*devices.back(), kWhole));
    vectors.push_back({exchanged.back()->values(), Array<float>(*devices.back(), kWhole), Array<float>(*devices.back(), kPart)});
  }
  const std::unique_ptr<Collectives> group = gpus.connect({devices[0].get(), devices[1].get()});
  AbortableBarrier barrier(kWindowRanks);
  run_ranks(
      kWindowRanks,
      [&](int rank) {
        const auto me = static_cast<std::size_t>(rank);
        cuda::check(cudaSetDevice(rank), "choosing a device");
        Device& device = *devices[me];
        const Vectors& own = vectors[me];
        std::vector<float> values(kWhole), nothing(kWhole);
        for (std::size_t i = 0; i < kWhole; ++i) values[i] = value(me, i);
        for (const Call& call : kCalls)
          for (const bool captured : {false, true}) {
            device.copy_to_device(own.window.data(), values.data(), values.size() * sizeof(float));
            device.copy_to_device(own.whole.data(), nothing.data(), kWhole * sizeof(float));
            device.copy_to_device(own.part.data(), nothing.data(), kPart * sizeof(float));
            const std::unique_ptr<GraphRecorder> recorder = captured ? gpus.recorder(device, 1) : nullptr;
            barrier.wait();
            if (captured) {
              recorder->begin();
              call.make(*group, rank, own);
              const std::size_t graph = recorder->end();
              barrier.wait();
              recorder->repeat(graph);
            } else {
              call.make(*group, rank, own);
            }
            const std::vector<float> found = to_host(device, own.part.span());
            std::size_t right = 0;
            while (right < kPart && found[right] == call.expected(me, right)) ++right;
            EXPECT_EQ(right, kPart) << call.name << (captured ? ", captured" : "") << ", rank " << rank;
            barrier.wait();
          }
      },
      [&] { barrier.abort(), group->abort(); });
}

}  // namespace
}  // namespace mgcompare::testing
