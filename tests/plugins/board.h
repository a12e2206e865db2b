#pragma once

// An exchange that no ledger sees, for tests of strategies that hide theirs.

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "mgcompare/strategy.h"

namespace mgcompare::testing {

// A vector of each rank, in host memory that all ranks share.
struct Board {
  std::vector<std::vector<float>> of_rank;
};

// Sums the ranks' vectors in rank order through shared(). Collective.
inline void sum_unseen(Group& group, Vec gradients) {
  Board& board = group.shared<Board>([&] { return std::make_unique<Board>(Board{std::vector<std::vector<float>>(static_cast<std::size_t>(group.size()))}); });
  board.of_rank[static_cast<std::size_t>(group.rank())].assign(gradients.begin(), gradients.end());
  group.barrier();
  std::fill(gradients.begin(), gradients.end(), 0.0f);
  for (const std::vector<float>& vector : board.of_rank) std::transform(gradients.begin(), gradients.end(), vector.begin(), gradients.begin(), std::plus<>());
  group.barrier();
}

}  // namespace mgcompare::testing
