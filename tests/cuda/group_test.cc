// Collectives on GPUs: several ranks on one GPU, and one rank per GPU where there are several.

#include <atomic>

#include <gmock/gmock.h>

#include "gpu.h"
#include "mgcompare/error.h"

namespace mgcompare::testing {
namespace {

// Distributes the ranks evenly over the given number of GPUs, and these over hosts. On several hosts a rank has a GPU of its own.
struct Placement {
  int ranks;
  int gpus;
  int hosts = 1;
  bool in_rank_order = false;
};

void PrintTo(const Placement& placement, std::ostream* out) {
  *out << placement.ranks << " ranks on " << placement.gpus << " of " << placement.hosts << (placement.in_rank_order ? ", in order" : "");
}

class CudaGroup : public OnGpu, public ::testing::WithParamInterface<Placement> {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (gpu_count() < GetParam().gpus)
      GTEST_SKIP() << "needs " << GetParam().gpus << " GPUs, there are " << gpu_count();
  }
  std::vector<int> gpus() const {
    std::vector<int> indices;
    for (int rank = 0; rank < GetParam().ranks; ++rank) indices.push_back(rank * GetParam().gpus / GetParam().ranks);
    return indices;
  }
  std::size_t ranks() const { return static_cast<std::size_t>(GetParam().ranks); }
  void spawn(const std::function<void(Device&, RankGroup&)>& body) const {
    if (GetParam().hosts == 1) spawn_on(gpus(), body);
    else spawn_on_hosts(static_cast<std::size_t>(GetParam().hosts), gpus(), GetParam().in_rank_order, body);
  }
};

template <class T, class F> Array<T> filled(Device& device, std::size_t size, F f) {
  std::vector<T> values;
  for (std::size_t i = 0; i < size; ++i) values.push_back(f(i));
  return to_device(device, values);
}

TEST_P(CudaGroup, AllReduceAddsEveryType) {
  spawn([&](Device& device, RankGroup& group) {
    constexpr std::size_t kCount = 100'003;
    const auto own = static_cast<float>(group.rank() + 1);
    const auto value = [](std::size_t i) { return static_cast<float>(i % 97); };
    const Array<float> full = filled<float>(device, kCount, [&](std::size_t i) { return own * value(i); });
    const Array<Half> half = filled<Half>(device, kCount, [&](std::size_t i) { return Half::from(own * value(i)); });
    const Array<BFloat16> brain = filled<BFloat16>(device, kCount, [&](std::size_t i) { return BFloat16::from(own * value(i)); });
    const Array<std::uint32_t> words = filled<std::uint32_t>(device, kCount, [](std::size_t i) { return static_cast<std::uint32_t>(i) << 8; });
    const Array<std::uint8_t> bytes = filled<std::uint8_t>(device, kCount, [](std::size_t i) { return static_cast<std::uint8_t>(i); });
    group.all_reduce(full.span());
    group.all_reduce(half.span());
    group.all_reduce(brain.span());
    group.all_reduce(words.span());
    group.all_reduce(bytes.span());
    const float factor = static_cast<float>(ranks() * (ranks() + 1)) / 2;
    const auto fulls = to_host(device, full.span());
    const auto halves = to_host(device, half.span());
    const auto brains = to_host(device, brain.span());
    const auto sums = to_host(device, words.span());
    const auto small = to_host(device, bytes.span());
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(fulls[i], factor * value(i)) << i;
      float narrow = 0;
      for (std::size_t r = 1; r <= ranks(); ++r) narrow += BFloat16::from(static_cast<float>(r) * value(i)).value();
      ASSERT_EQ(halves[i].value(), Half::from(factor * value(i)).value()) << i;
      ASSERT_EQ(brains[i].value(), BFloat16::from(narrow).value()) << i;
      ASSERT_EQ(sums[i], static_cast<std::uint32_t>(i * ranks()) << 8) << i;
      ASSERT_EQ(small[i], static_cast<std::uint8_t>(i * ranks())) << i;
    }
  });
}

TEST_P(CudaGroup, ReduceAndBroadcastGoToAndComeFromTheRoot) {
  const int root = GetParam().ranks - 1;
  spawn([&](Device& device, RankGroup& group) {
    const auto own = static_cast<float>(group.rank() + 1);
    const Array<float> data = filled<float>(device, 1000, [&](std::size_t) { return own; });
    const Array<Half> half = filled<Half>(device, 1000, [&](std::size_t) { return Half::from(own); });
    group.reduce(data.span(), root);
    group.reduce(half.span(), root);
    const float total = static_cast<float>(ranks() * (ranks() + 1)) / 2;
    EXPECT_EQ(to_host(device, data.span())[999], group.rank() == root ? total : own);
    EXPECT_EQ(to_host(device, half.span())[999].value(), group.rank() == root ? total : own);
    group.broadcast(data.span(), root);
    EXPECT_EQ(to_host(device, data.span())[500], total);
  });
}

TEST_P(CudaGroup, UnequalCountsGatherScatterAndExchange) {
  spawn([&](Device& device, RankGroup& group) {
    Counts counts;
    for (std::size_t rank = 0; rank < ranks(); ++rank) counts.push_back(rank);  // rank 0 contributes no elements
    const auto mine = static_cast<std::size_t>(group.rank());
    const std::size_t all = ranks() * (ranks() - 1) / 2;
    const Array<std::uint32_t> own = filled<std::uint32_t>(device, mine, [&](std::size_t i) { return static_cast<std::uint32_t>(100 * mine + i); });
    const Array<std::uint32_t> whole(device, all), gathered(device, all), back(device, mine);
    group.all_gather(own.span(), whole.span(), counts);
    group.gather(own.span(), gathered.span(), 0, counts);
    group.scatter(whole.span(), back.span(), 0, counts);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t r = 0; r < ranks(); ++r)
      for (std::uint32_t i = 0; i < r; ++i) expected.push_back(100 * r + i);
    EXPECT_EQ(to_host(device, whole.span()), expected);
    if (mine == 0) {
      EXPECT_EQ(to_host(device, gathered.span()), expected);
    }
    EXPECT_EQ(to_host(device, back.span()), to_host(device, own.span()));

    // Rank r sends r + k + 1 elements to rank k.
    Counts out_counts, in_counts;
    std::vector<float> out;
    for (std::size_t k = 0; k < ranks(); ++k) {
      out_counts.push_back(mine + k + 1);
      in_counts.push_back(mine + k + 1);
      out.insert(out.end(), mine + k + 1, static_cast<float>(10 * mine + k));
    }
    const Array<float> sent = to_device(device, out);
    const Array<float> received(device, out.size());
    group.all_to_all(sent.span(), out_counts, received.span(), in_counts);
    std::vector<float> wanted;
    for (std::size_t k = 0; k < ranks(); ++k) wanted.insert(wanted.end(), mine + k + 1, static_cast<float>(10 * k + mine));
    EXPECT_EQ(to_host(device, received.span()), wanted);
  });
}

TEST_P(CudaGroup, ReduceScatterTakesUnequalAndEqualCounts) {
  spawn([&](Device& device, RankGroup& group) {
    for (const bool equal : {true, false}) {
      Counts counts;
      for (std::size_t rank = 0; rank < ranks(); ++rank) counts.push_back(equal ? 7 : 3 * rank);
      const auto me = static_cast<std::size_t>(group.rank());
      std::size_t total = 0, before = 0;
      for (std::size_t rank = 0; rank < ranks(); ++rank) {
        if (rank == me) before = total;
        total += counts[rank];
      }
      const Array<float> all = filled<float>(device, total, [](std::size_t i) { return static_cast<float>(i); });
      const Array<BFloat16> brain = filled<BFloat16>(device, total, [](std::size_t i) { return BFloat16::from(static_cast<float>(i)); });
      const Array<float> mine(device, counts[me]);
      const Array<BFloat16> own(device, counts[me]);
      group.reduce_scatter(all.span(), mine.span(), counts);
      group.reduce_scatter(brain.span(), own.span(), counts);
      const auto found = to_host(device, mine.span());
      const auto narrow = to_host(device, own.span());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i], static_cast<float>((before + i) * ranks()));
        EXPECT_EQ(narrow[i].value(), BFloat16::from(static_cast<float>((before + i) * ranks())).value());
      }
    }
  });
}

TEST_P(CudaGroup, PeersGetPutAndAdd) {
  spawn([&](Device& device, RankGroup& group) {
    const Array<float> memory(device, 2000), sum(device, 100);
    const int window = group.expose(memory.span()), sums = group.expose(sum.span());
    const auto next = static_cast<int>((static_cast<std::size_t>(group.rank()) + 1) % ranks());
    const Array<float> own = filled<float>(device, 100, [&](std::size_t i) { return static_cast<float>(group.rank() * 1000 + static_cast<int>(i)); });
    group.peer(next).put(window, 50, own.span());
    group.peer(0).add(sums, 0, own.span());
    device.synchronize();
    group.barrier();
    const Array<float> got(device, 100);
    group.peer(next).get(window, 50, got.span());
    EXPECT_EQ(to_host(device, got.span()), to_host(device, own.span()));
    if (group.rank() == 0) {
      const std::vector<float> found = to_host(device, sum.span());
      for (std::size_t i = 0; i < 100; ++i)
        EXPECT_EQ(found[i], static_cast<float>(i * ranks() + 1000 * ranks() * (ranks() - 1) / 2));
    }
    group.barrier();
  });
}

TEST_P(CudaGroup, AFailedRankFreesTheOthers) {
  if (GetParam().ranks == 1) GTEST_SKIP() << "a lone rank waits for nobody";
  std::atomic<int> aborted = 0;
  EXPECT_THROW(spawn([&](Device& device, RankGroup& group) {
    if (group.rank() == 0) throw Error("rank 0 fails");
    const Array<float> data(device, 1000);
    try {
      group.all_reduce(data.span());
      device.synchronize();
      group.barrier();
    } catch (const Error&) {
      ++aborted;
      throw;
    }
  }), Error);
  EXPECT_EQ(aborted, GetParam().ranks - 1);
}

// NCCL, which exchanges between ranks with a GPU each, cannot tell.
TEST_P(CudaGroup, DifferentCallsOfRanksThatShareAGpuAreNamed) {
  if (GetParam().ranks < 2 || GetParam().ranks == GetParam().gpus) GTEST_SKIP() << "no ranks share a GPU";
  const auto error_of = [&](const std::function<void(RankGroup&, Span<float>)>& call) -> std::string {
    try {
      spawn([&](Device& device, RankGroup& group) {
        const Array<float> data(device, 1000);
        call(group, data.span());
      });
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(error_of([](RankGroup& group, Span<float> data) { group.rank() == 0 ? group.all_reduce(data) : group.broadcast(data, 1); }),
              ::testing::HasSubstr("rank 0 called all_reduce of float32 elements, and rank 1 broadcast to or from rank 1"));
  EXPECT_THAT(error_of([](RankGroup& group, Span<float> data) {
                const auto ranks = static_cast<std::size_t>(group.size());
                Counts counts(ranks, 1);
                counts[0] += group.rank() == 0 ? 1 : 0;
                group.all_gather(data.slice({0, counts[static_cast<std::size_t>(group.rank())]}), data.slice({500, 499 + ranks + counts[0]}), counts);
              }),
              ::testing::HasSubstr("different counts on two ranks"));
}

INSTANTIATE_TEST_SUITE_P(All, CudaGroup,
                         ::testing::Values(Placement{1, 1}, Placement{2, 1}, Placement{3, 1}, Placement{8, 1},
                                           Placement{2, 2}, Placement{4, 2}, Placement{6, 2}, Placement{3, 3},
                                           Placement{4, 4}, Placement{8, 4}, Placement{2, 2, 2}, Placement{2, 2, 2, true}, Placement{4, 4, 2}),
                         [](const auto& info) {
                           const Placement& placement = info.param;
                           return std::to_string(placement.ranks) + "_on_" + std::to_string(placement.gpus) +
                                  (placement.hosts > 1 ? "_of_" + std::to_string(placement.hosts) + "_hosts" : "") +
                                  (placement.in_rank_order ? "_in_order" : "");
                         });

}  // namespace
}  // namespace mgcompare::testing
