#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "fixture.h"

namespace mgcompare {
namespace {

using testing::spawn;

// Of other types a sum of bytes would be nonsense.
template <class T>
concept Reduces = requires(Group& group, Span<T> data, Span<std::remove_const_t<T>> mine) {
  group.reduce_scatter(data, mine);
  group.all_reduce(mine);
  group.reduce(mine, 0);
};
static_assert(Reduces<float> && Reduces<const float> && Reduces<Half> && Reduces<BFloat16> && Reduces<std::uint8_t> && Reduces<std::uint32_t>);
static_assert(!Reduces<double> && !Reduces<int> && !Reduces<std::int64_t> && !Reduces<std::uint64_t>);

class GroupOf : public ::testing::TestWithParam<int> {
 protected:
  std::size_t ranks() const { return static_cast<std::size_t>(GetParam()); }
};

TEST_P(GroupOf, AllReduceAddsInRankOrder) {
  spawn(ranks(), [&](Device& device, RankGroup& group) {
    const Array<float> data = device_array<float>(device, 5001);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = 0.1f * static_cast<float>(i + 1) / static_cast<float>(group.rank() + 3);
    group.all_reduce(data.span());
    for (std::size_t i = 0; i < data.size(); ++i) {
      float expected = 0.1f * static_cast<float>(i + 1) / 3.0f;
      for (int rank = 1; rank < group.size(); ++rank) expected += 0.1f * static_cast<float>(i + 1) / static_cast<float>(rank + 3);
      ASSERT_EQ(data[i], expected);
    }
    EXPECT_EQ(group.bytes(), 2 * (ranks() - 1) * 5001 * 4 / ranks());
  });
}

TEST_P(GroupOf, AllReduceAddsEveryType) {
  spawn(ranks(), [&](Device& device, RankGroup& group) {
    const Array<Half> half = device_array<Half>(device, 33);
    const Array<BFloat16> brain = device_array<BFloat16>(device, 33);
    const Array<std::uint32_t> words = device_array<std::uint32_t>(device, 33);
    const Array<std::uint8_t> bytes = device_array<std::uint8_t>(device, 33);
    for (std::size_t i = 0; i < 33; ++i) {
      half[i] = Half::from(static_cast<float>(i) + 0.25f);
      brain[i] = BFloat16::from(static_cast<float>(i));
      words[i] = static_cast<std::uint32_t>(i) << 20;
      bytes[i] = static_cast<std::uint8_t>(i);
    }
    group.all_reduce(half.span());
    group.all_reduce(brain.span());
    group.all_reduce(words.span());
    group.all_reduce(bytes.span());
    const auto n = static_cast<float>(ranks());
    for (std::size_t i = 0; i < 33; ++i) {
      EXPECT_EQ(half[i].value(), Half::from(n * (static_cast<float>(i) + 0.25f)).value());
      EXPECT_EQ(brain[i].value(), BFloat16::from(n * static_cast<float>(i)).value());
      EXPECT_EQ(words[i], static_cast<std::uint32_t>(i * ranks()) << 20);
      EXPECT_EQ(bytes[i], static_cast<std::uint8_t>(i * ranks()));
    }
  });
}

TEST_P(GroupOf, ReduceAndBroadcastGoToAndComeFromTheRoot) {
  const int root = GetParam() - 1;
  spawn(ranks(), [&](Device& device, RankGroup& group) {
    const Array<float> data = device_array<float>(device, 10);
    for (std::size_t i = 0; i < 10; ++i) data[i] = static_cast<float>(group.rank() + 1);
    group.reduce(data.span(), root);
    const float total = static_cast<float>(group.size() * (group.size() + 1)) / 2;
    EXPECT_EQ(data[3], group.rank() == root ? total : static_cast<float>(group.rank() + 1));
    EXPECT_EQ(group.bytes(), group.rank() == root ? 0u : 40u);
    group.broadcast(data.span(), root);
    EXPECT_EQ(data[9], total);
  });
}

// Ranks hold 0, 1, 2 ... elements.
Counts rising(int ranks) {
  Counts counts;
  for (int rank = 0; rank < ranks; ++rank) counts.push_back(static_cast<std::size_t>(rank));
  return counts;
}

TEST_P(GroupOf, GatherScatterAndAllGatherTakeUnequalCounts) {
  spawn(ranks(), [&](Device& device, RankGroup& group) {
    const Counts counts = rising(group.size());
    const auto mine = static_cast<std::size_t>(group.rank());
    const std::size_t all = ranks() * (ranks() - 1) / 2;
    const Array<std::uint32_t> own = device_array<std::uint32_t>(device, mine), whole = device_array<std::uint32_t>(device, all),
                               back = device_array<std::uint32_t>(device, mine);
    for (std::size_t i = 0; i < mine; ++i) own[i] = static_cast<std::uint32_t>(100 * mine + i);
    group.all_gather(own.span(), whole.span(), counts);
    std::size_t at = 0;
    for (std::size_t rank = 0; rank < ranks(); ++rank)
      for (std::size_t i = 0; i < rank; ++i) EXPECT_EQ(whole[at++], 100 * rank + i);
    device.zero(whole.data(), whole.size() * 4);
    group.gather(own.span(), whole.span(), 0, counts);
    group.scatter(whole.span(), back.span(), 0, counts);
    for (std::size_t i = 0; i < mine; ++i) EXPECT_EQ(back[i], own[i]);
  });
}

TEST_P(GroupOf, PartsMayLieInTheWhole) {
  spawn(ranks(), [&](Device& device, RankGroup& group) {
    const Counts counts = rising(group.size());
    const auto mine = static_cast<std::size_t>(group.rank());
    const std::size_t begin = mine * (mine - 1) / 2, size = ranks() * (ranks() - 1) / 2;
    const Array<float> whole = device_array<float>(device, size);
    const auto own = whole.span().slice({begin, begin + mine});
    for (std::size_t i = 0; i < size; ++i) whole[i] = static_cast<float>(i + mine);
    group.reduce_scatter(whole.span(), own, counts);
    group.all_gather(own, whole.span(), counts);
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(whole[i], static_cast<float>(ranks() * i + size)) << i;
  });
}

TEST_P(GroupOf, ReduceScatterGivesEachRankItsPartOfTheSum) {
  spawn(ranks(), [&](Device& device, RankGroup& group) {
    const Counts counts = rising(group.size());
    const Array<float> all = device_array<float>(device, ranks() * (ranks() - 1) / 2);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i) * static_cast<float>(group.rank() + 1);
    const auto mine = static_cast<std::size_t>(group.rank());
    const Array<float> part = device_array<float>(device, mine);
    group.reduce_scatter(all.span(), part.span(), counts);
    const std::size_t first = mine * (mine == 0 ? 0 : mine - 1) / 2;
    for (std::size_t i = 0; i < mine; ++i)
      EXPECT_EQ(part[i], static_cast<float>(first + i) * static_cast<float>(ranks() * (ranks() + 1) / 2));
  });
}

TEST_P(GroupOf, AllToAllTransposes) {
  spawn(ranks(), [&](Device& device, RankGroup& group) {
    // Rank r sends r + k elements to rank k.
    Counts out, in;
    for (int k = 0; k < group.size(); ++k) {
      out.push_back(static_cast<std::size_t>(group.rank() + k));
      in.push_back(static_cast<std::size_t>(group.rank() + k));
    }
    std::size_t n = 0;
    for (const std::size_t count : out) n += count;
    const Array<float> to = device_array<float>(device, n), from = device_array<float>(device, n);
    std::size_t at = 0;
    for (int k = 0; k < group.size(); ++k)
      for (std::size_t i = 0; i < out[static_cast<std::size_t>(k)]; ++i) to[at++] = static_cast<float>(100 * group.rank() + 10 * k) + static_cast<float>(i);
    group.all_to_all(to.span(), out, from.span(), in);
    at = 0;
    for (int k = 0; k < group.size(); ++k)
      for (std::size_t i = 0; i < in[static_cast<std::size_t>(k)]; ++i)
        EXPECT_EQ(from[at++], static_cast<float>(100 * k + 10 * group.rank()) + static_cast<float>(i));
  });
}

TEST_P(GroupOf, PeersGetPutAndAdd) {
  spawn(ranks(), [&](Device& device, RankGroup& group) {
    const Array<float> shown = device_array<float>(device, 8), read = device_array<float>(device, 4);
    for (std::size_t i = 0; i < 8; ++i) shown[i] = static_cast<float>(group.rank());
    const int window = group.expose(shown.span());
    const int next = (group.rank() + 1) % group.size();
    group.peer(next).get(window, 2, read.span());
    EXPECT_EQ(read[0], static_cast<float>(next));
    group.barrier();
    group.peer(next).put(window, 0, read.span().slice({0, 1}));
    for (int target = 0; target < group.size(); ++target) group.peer(target).add(window, 7, read.span().slice({0, 1}));
    group.barrier();
    EXPECT_EQ(shown[0], static_cast<float>(group.rank()));
    EXPECT_EQ(shown[7], static_cast<float>(group.rank()) + static_cast<float>(group.size() * (group.size() - 1)) / 2);
    EXPECT_THROW(group.peer(next).get(window, 7, read.span()), Error);
    EXPECT_THROW(group.peer(next).get(window + 1, 0, read.span()), Error);
  });
}

TEST_P(GroupOf, SharedIsOneObjectAndExclusiveIsExclusive) {
  spawn(ranks(), [&](Device&, RankGroup& group) {
    struct Counter {
      int value = 0;
    };
    Counter& counter = group.shared<Counter>();
    Counter& other = group.shared<Counter>("other");
    EXPECT_NE(&counter, &other);
    for (int i = 0; i < 200; ++i) group.exclusive(3, [&] { ++counter.value; });
    group.wait_until([&] { return counter.value == 200 * group.size(); });
    EXPECT_EQ(counter.value, 200 * group.size());
  });
}

TEST_P(GroupOf, ASectionWithinASectionIsAnErrorNotAHang) {
  for (const bool waits : {false, true}) {
    EXPECT_THROW(spawn(ranks(), [&](Device&, RankGroup& group) {
                   group.exclusive(0, [&] {
                     if (waits) group.wait_until([] { return true; });
                     else group.exclusive(1, [] {});
                   });
                 }),
                 Error);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, GroupOf, ::testing::Values(1, 2, 3, 4, 8), ::testing::PrintToStringParamName());

TEST(Group, TheFirstErrorUnwindsRanksThatWait) {
  for (const char* where : {"barrier", "collective", "wait_until", "shared"}) {
    std::atomic<int> unwound = 0;
    try {
      spawn(4, [&](Device& device, RankGroup& group) {
        const Array<float> data = device_array<float>(device, 100000);
        struct Unwound {
          std::atomic<int>& count;
          ~Unwound() { ++count; }
        } guard{unwound};
        if (group.rank() == (std::string(where) == "shared" ? 0 : 2)) throw Error("rank fails at " + std::string(where));
        if (std::string(where) == "barrier") group.barrier();
        if (std::string(where) == "collective") group.all_reduce(data.span());
        if (std::string(where) == "wait_until") group.wait_until([] { return false; });
        if (std::string(where) == "shared") group.shared<int>();
      });
      ADD_FAILURE() << "nothing thrown";
    } catch (const Aborted&) {
      ADD_FAILURE() << "the cause was lost";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "rank fails at " + std::string(where));
    }
    EXPECT_EQ(unwound, 4);
  }
}

// Of two ranks that make this call with eight elements.
template <class T> std::string error_of_call(const std::function<void(RankGroup&, Span<T>)>& call) {
  try {
    spawn(2, [&](Device& device, RankGroup& group) {
      const Array<T> data = device_array<T>(device, 8);
      call(group, data.span());
    });
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Group, DifferentCallsAreNamed) {
  EXPECT_THAT(error_of_call<Half>([](RankGroup& group, Span<Half> data) { group.rank() == 0 ? group.all_reduce(data) : group.broadcast(data, 1); }),
              ::testing::HasSubstr("rank 0 called all_reduce of float16 elements, and rank 1 broadcast to or from rank 1: all ranks must"));
  EXPECT_THAT(error_of_call<Half>([](RankGroup& group, Span<Half> data) { group.broadcast(data, group.rank()); }),
              ::testing::HasSubstr("broadcast to or from rank 0, and rank 1"));
  EXPECT_EQ(error_of_call<Half>([](RankGroup& group, Span<Half> data) { group.all_reduce(data); }), "none");
}

TEST(Group, AShortVectorIsNamed) {
  using ::testing::HasSubstr;
  EXPECT_THAT(error_of_call<float>([](RankGroup& group, Vec data) { group.all_gather(data.slice({0, 2}), data.slice({2, 5})); }),
              HasSubstr("all_gather: the vector `all` has 3 elements, and the call needs 4"));
  EXPECT_THAT(error_of_call<float>([](RankGroup& group, Vec data) { group.reduce_scatter(data.slice({2, 7}), data.slice({0, 1}), {3, 2}); }),
              HasSubstr("reduce_scatter: the vector `mine` has 1 elements"));
  EXPECT_THAT(error_of_call<float>([](RankGroup& group, Vec data) { group.all_to_all(data.slice({0, 3}), {1, 2}, data.slice({4, 5}), {1, 1}); }), HasSubstr("all_to_all: the vector `in`"));
  EXPECT_THAT(error_of_call<float>([](RankGroup& group, Vec data) { group.gather(data.slice({0, 2}), group.rank() == 1 ? data.slice({2, 6}) : Vec(), 1); }), "none");
  EXPECT_THAT(error_of_call<float>([](RankGroup& group, Vec data) { group.scatter(data.slice({2, 5}), data.slice({0, 2}), 0); }), HasSubstr("scatter: the vector `all` has 3"));
}

TEST(Group, UnequalSizesAreAnErrorNotACorruption) {
  EXPECT_THROW(spawn(2, [](Device& device, RankGroup& group) {
                 const Array<float> data = device_array<float>(device, 10);
                 group.all_reduce(data.span().slice({0, group.rank() == 0 ? 10u : 9u}));
               }),
               Error);
}

TEST(Group, UnequalCountsAreAnErrorNotACorruption) {
  EXPECT_THROW(spawn(2, [](Device& device, RankGroup& group) {
                 const std::size_t mine = group.rank() == 0 ? 10 : 9;
                 const Array<float> data = device_array<float>(device, mine), all = device_array<float>(device, 20);
                 group.all_gather(data.span(), all.span());
               }),
               Error);
}

TEST(AsyncScheduler, VirtualTimeGivesOneOrderWhateverTheThreadsDo) {
  const auto order_of = [](int delay) {
    std::vector<int> order;
    std::unique_ptr<AsyncScheduler> scheduler = virtual_time_scheduler(4, 7);
    AsyncScheduler& shared = *scheduler;
    spawn(4, [&](Device&, RankGroup& group) {
      const auto rank = static_cast<std::size_t>(group.rank());
      shared.enter(rank, 0);
      group.barrier();
      for (int i = 0; i < 20; ++i) {
        group.exclusive(0, [&] { order.push_back(group.rank()); });
        shared.spend(rank, 1);
        if ((i + group.rank()) % 4 == delay) std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
      shared.leave(rank);
      group.barrier();
    }, std::move(scheduler));
    return order;
  };
  const std::vector<int> first = order_of(0);
  EXPECT_EQ(first, order_of(1));
  EXPECT_EQ(first, order_of(3));
  EXPECT_EQ(first.size(), 80u);
  // The order is not plain round-robin: jitter in the virtual time changes it.
  bool turns = true;
  for (std::size_t i = 4; i < first.size(); ++i) turns = turns && first[i] == first[i - 4];
  EXPECT_FALSE(turns);
}

TEST(AsyncScheduler, VirtualTimeNamesADeadlock) {
  std::unique_ptr<AsyncScheduler> scheduler = virtual_time_scheduler(2, 7);
  AsyncScheduler& shared = *scheduler;
  EXPECT_THROW(spawn(2, [&](Device&, RankGroup& group) {
                 shared.enter(static_cast<std::size_t>(group.rank()), 0);
                 group.barrier();
                 group.wait_until([] { return false; });
               }, std::move(scheduler)),
               Error);
}

}  // namespace
}  // namespace mgcompare
