#include "plan/further_block.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "plan/trial_order.h"

namespace mgcompare {
namespace {

// A plan has at most 10,000 repeats, and its other trials have numbers below 100,000 (plan_filter.cc).
constexpr int kFirstNumber = 1'000'000, kNumbersOfBlock = 10'000;

// The seed of the further block that `count` others precede.
std::uint64_t unused_seed(const std::vector<std::uint64_t>& used, int count) {
  std::uint64_t seed = 1;
  for (;; ++seed) {
    if (std::find(used.begin(), used.end(), seed) != used.end()) continue;
    if (count-- == 0) return seed;
  }
}

}  // namespace

std::vector<Trial> further_block(const Plan& plan, int block) {
  const int before = block - static_cast<int>(plan.config.seeds.size()) - 1;
  const std::uint64_t seed = unused_seed(plan.config.seeds, before);
  // The first trial of each row, in the order of the rows.
  std::vector<Trial> trials;
  for (const Trial& trial : plan.trials)
    if (trial.is_repeat()) trials.push_back(trial);
  std::sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) { return a.number < b.number; });
  std::set<std::string> rows;
  std::erase_if(trials, [&](const Trial& trial) { return !rows.insert(row_name(trial)).second; });
  for (Trial& trial : trials) {
    trial.number += kFirstNumber + before * kNumbersOfBlock;
    trial.block = block;
    trial.seed = seed;
  }
  shuffle_block(plan.config, block, trials);
  return trials;
}

}  // namespace mgcompare
