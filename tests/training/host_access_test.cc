// One-sided access and exclusive sections between ranks of several hosts.

#include <gmock/gmock.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "ranks_of_hosts.h"

namespace mgcompare {
namespace {

using testing::HostRanks;
using testing::MakeScheduler;
using testing::span_of;
using testing::spawn_on_hosts;
using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class HostAccesses : public ::testing::TestWithParam<HostRanks> {};

// Rank r exposes r + 2 elements, so that the last ranks of two hosts differ.
TEST_P(HostAccesses, GetAndPutReachTheMemoryOfEveryRank) {
  spawn_on_hosts(GetParam(), [](RankGroup& group, CommContext&) {
    const int me = group.rank(), ranks = group.size();
    std::vector<float> empty, memory(static_cast<std::size_t>(me) + 2, static_cast<float>(me));
    EXPECT_EQ(group.expose(span_of(empty)), 0);
    const int window = group.expose(span_of(memory));
    EXPECT_EQ(window, 1);
    group.barrier();
    const int next = (me + 1) % ranks;
    std::vector<float> read(2);
    group.peer(next).get(window, static_cast<std::size_t>(next), span_of(read));
    EXPECT_THAT(read, ::testing::Each(static_cast<float>(next)));
    group.barrier();
    group.peer(next).put(window, 0, ConstVec(read.data(), 1));
    read = {static_cast<float>(100 + me)};
    group.peer(next).put(window, 1, span_of(read));
    group.barrier();
    EXPECT_EQ(memory[1], static_cast<float>(100 + (me + ranks - 1) % ranks));
    EXPECT_THAT(error_of([&] { group.peer(next).get(window, static_cast<std::size_t>(next) + 2, span_of(read)); }), HasSubstr("outside of the window"));
    EXPECT_THAT(error_of([&] { group.peer(next).add(0, 0, span_of(read)); }), HasSubstr("outside of the window, which has 0"));
    EXPECT_THAT(error_of([&] { group.peer(next).put(2, 0, span_of(read)); }), HasSubstr("has no window 2"));
    EXPECT_THAT(error_of([&] { group.peer(ranks).get(window, 0, span_of(read)); }), HasSubstr("there is no rank"));
    group.barrier();
  });
}

TEST_P(HostAccesses, AdditionsOfAllRanksAreNotLost) {
  constexpr int kTimes = 50;
  spawn_on_hosts(GetParam(), [](RankGroup& group, CommContext&) {
    std::vector<float> memory(300), ones(300, 1);
    const int window = group.expose(span_of(memory));
    for (int round = 0; round < kTimes; ++round)
      for (int rank = 0; rank < group.size(); ++rank) group.peer(rank).add(window, 0, span_of(ones));
    group.barrier();
    EXPECT_THAT(memory, ::testing::Each(static_cast<float>(kTimes * group.size())));
    group.barrier();
  });
}

TEST_P(HostAccesses, BytesWithinAndBetweenHostsAreCountedApart) {
  const std::size_t here = GetParam().ranks;
  spawn_on_hosts(GetParam(), [here](RankGroup& group, CommContext&) {
    std::vector<float> memory(100), other(100);
    const int window = group.expose(span_of(memory));
    group.ledger().set_counting(true);
    group.host_ledger().set_counting(true);
    const bool is_elsewhere = static_cast<std::size_t>(group.rank()) >= here;
    group.peer(0).get(window, 0, span_of(other));
    EXPECT_EQ(group.bytes(), group.rank() == 0 ? 0u : 400u);
    EXPECT_EQ(group.host_ledger().entries().empty(), !is_elsewhere);
    EXPECT_EQ(group.ledger().entries().empty(), is_elsewhere);
    group.barrier();
  });
}

// The counter is in the memory of the last rank, so sections and memory are on different hosts.
void expect_no_lost_update(const HostRanks& shape, const MakeScheduler& make_scheduler) {
  constexpr int kTimes = 20;
  float sum = 0;
  spawn_on_hosts(
      shape,
      [&](RankGroup& group, CommContext&) {
        const int last = group.size() - 1;
        std::vector<float> counter(1), value(1);
        const int window = group.expose(span_of(counter));
        for (int round = 0; round < kTimes; ++round)
          group.exclusive(3, [&] {
            group.peer(last).get(window, 0, span_of(value));
            ++value[0];
            group.peer(last).put(window, 0, span_of(value));
          });
        group.wait_until([&] {
          group.peer(last).get(window, 0, span_of(value));
          return value[0] == static_cast<float>(kTimes * group.size());
        });
        group.barrier();
        if (group.rank() == last) sum = counter[0];
      },
      make_scheduler);
  EXPECT_EQ(sum, static_cast<float>(kTimes) * static_cast<float>(shape.hosts * shape.ranks));
}

TEST_P(HostAccesses, SectionsAreExclusiveOverAllHosts) {
  expect_no_lost_update(GetParam(), [](std::size_t) { return live_scheduler(); });
  expect_no_lost_update(GetParam(), [](std::size_t ranks) { return virtual_time_scheduler(ranks, 1); });
}

INSTANTIATE_TEST_SUITE_P(Hosts, HostAccesses, ::testing::Values(HostRanks{2, 1}, HostRanks{2, 2}, HostRanks{3, 2}),
                         [](const auto& info) { return std::to_string(info.param.hosts) + "x" + std::to_string(info.param.ranks); });

// Which ranks ran the sections of an epoch in which each needs more time than the one before it.
std::vector<int> order_of_sections(const HostRanks& shape, const MakeScheduler& make_scheduler) {
  std::vector<int> order;
  spawn_on_hosts(
      shape,
      [&](RankGroup& group, CommContext& context) {
        const auto rank = static_cast<std::size_t>(group.rank());
        context.scheduler().enter(rank, 0);
        group.barrier();
        for (int round = 0; round < 5; ++round) {
          group.exclusive(0, [&] { order.push_back(group.rank()); });
          context.scheduler().spend(rank, group.rank() + 1);
        }
        context.scheduler().leave(rank);
        group.barrier();
      },
      make_scheduler);
  return order;
}

TEST(HostSchedules, VirtualTimeHasTheOrderOfOneHost) {
  const MakeScheduler in_virtual_time = [](std::size_t ranks) { return virtual_time_scheduler(ranks, 7); };
  const std::vector<int> several = order_of_sections({2, 2}, in_virtual_time);
  const std::vector<int> one = order_of_sections({1, 4}, in_virtual_time);
  EXPECT_EQ(several, one);
  EXPECT_EQ(several.size(), 20u);
}

TEST(HostSchedules, ARecordedOrderIsRepeated) {
  ScheduleLog log;
  const std::vector<int> live = order_of_sections({2, 2}, [&](std::size_t ranks) { return recording_scheduler(live_scheduler(), ranks, log); });
  EXPECT_EQ(order_of_sections({2, 2}, [&](std::size_t ranks) { return replay_scheduler(ranks, log); }), live);
}

// Errors of the scheduler reach the rank that called it.
TEST(HostSchedules, ErrorsKeepTheirSentence) {
  const ScheduleLog empty;
  const auto enter = [](RankGroup& group, CommContext& context) {
    if (group.rank() == 3) context.scheduler().enter(3, 0);
    group.barrier();
  };
  EXPECT_THAT(error_of([&] { spawn_on_hosts({2, 2}, enter, [&](std::size_t ranks) { return replay_scheduler(ranks, empty); }); }),
              HasSubstr("the recorded order does not fit this trial"));
  const auto wait = [](RankGroup& group, CommContext& context) {
    context.scheduler().enter(static_cast<std::size_t>(group.rank()), 0);
    group.barrier();
    group.wait_until([] { return false; });
  };
  EXPECT_THAT(error_of([&] { spawn_on_hosts({2, 1}, wait, [](std::size_t ranks) { return virtual_time_scheduler(ranks, 1); }); }), HasSubstr("deadlock"));
}

// Whatever the others wait for, of whichever host the rank is.
TEST(HostSchedules, AnErrorReleasesAllRanks) {
  for (const int culprit : {0, 3}) {
    for (const char* where : {"section", "condition", "start"}) {
      for (const bool in_virtual_time : {false, true}) {
        const auto body = [&](RankGroup& group, CommContext&) {
          std::vector<float> memory(1), read(1);
          const int window = group.expose(span_of(memory));
          const auto fail = [&] { if (group.rank() == culprit) throw Error("the planted error"); };
          if (where == std::string("start")) fail();
          if (where == std::string("condition") && group.rank() == culprit) group.wait_until([&]() -> bool { throw Error("the planted error"); });
          group.exclusive(0, [&] {
            group.peer(0).get(window, 0, span_of(read));
            if (where == std::string("section")) fail();
          });
          if (group.rank() == 1) for (;;) group.peer(2).get(window, 0, span_of(read));
          group.wait_until([] { return false; });
        };
        EXPECT_EQ(error_of([&] {
                    spawn_on_hosts({2, 2}, body, [&](std::size_t ranks) { return in_virtual_time ? virtual_time_scheduler(ranks, 1) : live_scheduler(); });
                  }),
                  "the planted error")
            << "rank " << culprit << ", " << where;
      }
    }
  }
}

// Not what a section throws and its rank catches.
TEST(HostSchedules, ASectionMayFailAndTheTrialGoesOn) {
  spawn_on_hosts({2, 1}, [](RankGroup& group, CommContext&) {
    for (int round = 0; round < 3; ++round) EXPECT_EQ(error_of([&] { group.exclusive(0, [] { throw Error("expected"); }); }), "expected");
    group.barrier();
  });
}

TEST(HostSchedules, DrawsAreOneSequenceForAllHosts) {
  std::vector<std::size_t> begins;
  std::mutex mutex;
  spawn_on_hosts({2, 2}, [&](RankGroup& group, CommContext& context) {
    for (;;) {
      const SampleDraw draw = context.draw(static_cast<std::size_t>(group.rank()), 3, 50);
      if (draw.size == 0) break;
      const std::lock_guard lock(mutex);
      EXPECT_EQ(draw.begin, 3 * draw.index);
      begins.push_back(draw.begin);
    }
    group.barrier();
  });
  std::sort(begins.begin(), begins.end());
  ASSERT_EQ(begins.size(), 17u);
  for (std::size_t k = 0; k < begins.size(); ++k) EXPECT_EQ(begins[k], 3 * k);
}

}  // namespace
}  // namespace mgcompare
