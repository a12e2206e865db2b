// Every collective over hosts gives what it gives on one host.

#include <gmock/gmock.h>

#include "ranks_of_hosts.h"

namespace mgcompare {
namespace {

using testing::span_of;
using Body = std::function<void(Group&)>;

void on_ranks_of_hosts(std::size_t hosts, std::size_t ranks, bool in_rank_order, const Body& body) {
  testing::spawn_on_hosts({hosts, ranks, in_rank_order}, [&](RankGroup& group, CommContext&) { body(group); });
}

float value_of(int rank, std::size_t i) { return static_cast<float>(100 * (rank + 1)) + static_cast<float>(i); }

std::vector<float> values_of(int rank, std::size_t size) {
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = value_of(rank, i);
  return values;
}

class HostGroups : public ::testing::TestWithParam<std::tuple<std::size_t, std::size_t, bool>> {
 protected:
  void run(const Body& body) {
    const auto [hosts, ranks, in_rank_order] = GetParam();
    on_ranks_of_hosts(hosts, ranks, in_rank_order, body);
  }
};

constexpr std::size_t kSize = 7;     // divides by none of the numbers of ranks

TEST_P(HostGroups, AllReduceAndReduceAdd) {
  run([](Group& group) {
    const int root = group.size() - 1;
    std::vector<float> all = values_of(group.rank(), kSize), one = all;
    group.all_reduce(span_of(all));
    group.reduce(span_of(one), root);
    for (std::size_t i = 0; i < kSize; ++i) {
      float sum = 0;
      for (int rank = 0; rank < group.size(); ++rank) sum += value_of(rank, i);
      EXPECT_EQ(all[i], sum);
      EXPECT_EQ(one[i], group.rank() == root ? sum : value_of(group.rank(), i));
    }
  });
}

TEST_P(HostGroups, BroadcastComesFromTheRoot) {
  run([](Group& group) {
    for (int root = 0; root < group.size(); ++root) {
      std::vector<float> values = values_of(group.rank(), kSize);
      group.broadcast(span_of(values), root);
      EXPECT_EQ(values, values_of(root, kSize));
      group.barrier();
    }
  });
}

// Rank r has r + 1 elements.
TEST_P(HostGroups, GatherScatterAndAllGatherKeepTheOrderOfRanks) {
  run([](Group& group) {
    Counts counts;
    std::vector<float> whole;
    for (int rank = 0; rank < group.size(); ++rank) {
      counts.push_back(static_cast<std::size_t>(rank) + 1);
      for (const float value : values_of(rank, counts.back())) whole.push_back(value);
    }
    const int root = 1;
    std::vector<float> mine = values_of(group.rank(), counts[static_cast<std::size_t>(group.rank())]);
    std::vector<float> gathered(whole.size()), everywhere(whole.size()), back(mine.size());
    group.gather(span_of(mine), span_of(gathered), root, counts);
    if (group.rank() == root) {
      EXPECT_EQ(gathered, whole);
    }
    group.all_gather(span_of(mine), span_of(everywhere), counts);
    EXPECT_EQ(everywhere, whole);
    group.scatter(span_of(whole), span_of(back), root, counts);
    EXPECT_EQ(back, mine);
  });
}

TEST_P(HostGroups, ReduceScatterGivesEachRankItsPart) {
  run([](Group& group) {
    const auto ranks = static_cast<std::size_t>(group.size()), me = static_cast<std::size_t>(group.rank());
    std::vector<float> all = values_of(group.rank(), 2 * ranks), mine(2);
    group.reduce_scatter(span_of(all), span_of(mine));
    for (std::size_t i = 0; i < 2; ++i) {
      float sum = 0;
      for (int rank = 0; rank < group.size(); ++rank) sum += value_of(rank, 2 * me + i);
      EXPECT_EQ(mine[i], sum);
    }
  });
}

// Rank r sends r + k + 1 elements to rank k.
TEST_P(HostGroups, AllToAllDeliversToEachRank) {
  run([](Group& group) {
    const int me = group.rank();
    Counts out, in;
    std::vector<float> sent;
    for (int other = 0; other < group.size(); ++other) {
      out.push_back(static_cast<std::size_t>(me + other + 1));
      in.push_back(static_cast<std::size_t>(other + me + 1));
      for (std::size_t i = 0; i < out.back(); ++i) sent.push_back(value_of(me, i) + 1000.0f * static_cast<float>(other));
    }
    std::vector<float> received(sent.size());
    group.all_to_all(span_of(sent), out, span_of(received), in);
    std::size_t at = 0;
    for (int other = 0; other < group.size(); ++other)
      for (std::size_t i = 0; i < in[static_cast<std::size_t>(other)]; ++i)
        EXPECT_EQ(received[at++], value_of(other, i) + 1000.0f * static_cast<float>(me));
  });
}

TEST_P(HostGroups, SharedObjectsAreOneForEachHost) {
  const std::size_t ranks = std::get<1>(GetParam());
  run([ranks](Group& group) {
    int& first = group.shared<int>([&] { return std::make_unique<int>(group.rank()); });
    EXPECT_EQ(static_cast<std::size_t>(first), static_cast<std::size_t>(group.rank()) / ranks * ranks);
    group.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Hosts, HostGroups, ::testing::Combine(::testing::Values(2, 3), ::testing::Values(1, 2), ::testing::Bool()));

// Ten million and one is a float32; ten million and a half is not.
TEST(HostCollectives, RankOrderIsTheOrderOfTheSum) {
  const std::vector<float> terms = {1e8f, -1e8f, 1.0f, 3.0f};
  for (const bool in_rank_order : {true, false}) {
    on_ranks_of_hosts(2, 2, in_rank_order, [&](Group& group) {
      std::vector<float> value = {terms[static_cast<std::size_t>(group.rank())]};
      group.all_reduce(span_of(value));
      EXPECT_EQ(value[0], 4.0f);
    });
  }
  // Within a host first, 1 is lost beside 1e8.
  const std::vector<float> other = {1e8f, 0.0f, 1.0f, -1e8f};
  std::vector<float> sums(2);
  for (const bool in_rank_order : {true, false}) {
    on_ranks_of_hosts(2, 2, in_rank_order, [&](Group& group) {
      std::vector<float> value = {other[static_cast<std::size_t>(group.rank())]};
      group.all_reduce(span_of(value));
      if (group.rank() == 0) sums[in_rank_order ? 1 : 0] = value[0];
    });
  }
  EXPECT_EQ(sums[1], (1e8f + 0.0f + 1.0f) + -1e8f);
  EXPECT_EQ(sums[0], (1e8f + 0.0f) + (1.0f + -1e8f));
}

TEST(HostCollectives, SizesThatDifferWithinAHostAreRefused) {
  EXPECT_THROW(on_ranks_of_hosts(2, 2, false, [](Group& group) {
    std::vector<float> values(static_cast<std::size_t>(group.rank()) + 1);
    group.all_reduce(span_of(values));
  }), Error);
}

TEST(HostCollectives, DifferentCallsWithinAHostAreNamed) {
  std::string message;
  try {
    on_ranks_of_hosts(2, 2, false, [](Group& group) {
      std::vector<float> values(4);
      if (group.rank() < 2) group.all_reduce(span_of(values));
      else group.broadcast(span_of(values), group.rank());
    });
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_THAT(message, ::testing::HasSubstr("rank 2 called broadcast to or from rank 2, and rank 3 broadcast to or from rank 3: all ranks must"));
}

}  // namespace
}  // namespace mgcompare
