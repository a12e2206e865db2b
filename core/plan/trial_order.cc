#include "plan/trial_order.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "mgcompare/random.h"
#include "plan/baseline_reruns.h"

namespace mgcompare {
namespace {

constexpr std::uint64_t kShuffleStream = 0x706c616e;  // distinct from all random streams of trials

// Uses random numbers from `draw` on.
void shuffle(const Random& random, std::uint64_t& draw, std::vector<Trial>& trials) {
  for (std::size_t left = trials.size(); left > 1; --left) std::swap(trials[left - 1], trials[random.below(draw++, left)]);
}

std::vector<Trial> blocks(const Config& config, const std::vector<PlannedRow>& rows) {
  const Random random(config.seeds.front(), kShuffleStream);
  std::uint64_t draw = 0;
  std::vector<Trial> all;
  for (std::size_t block = 0; block < config.seeds.size(); ++block) {
    std::vector<Trial> trials;
    for (const PlannedRow& row : rows) {
      Trial& trial = trials.emplace_back(row.trial);
      trial.number = static_cast<int>(all.size() + trials.size());
      trial.block = static_cast<int>(block) + 1;
      trial.seed = config.seeds[block];
    }
    shuffle(random, draw, trials);
    std::move(trials.begin(), trials.end(), std::back_inserter(all));
  }
  return all;
}

Trial extra_run(const Config& config, const PlannedRow& row, int number) {
  Trial trial = row.trial;
  trial.number = number;
  trial.seed = config.seeds.front();
  return trial;
}

// The first baseline row of each network and kind of device; further rows would show the same and cost time.
std::vector<Trial> brackets(const Config& config, const std::vector<PlannedRow>& rows, int number) {
  std::vector<Trial> all;
  for (int bracket = 1; bracket <= bracket_count(config); ++bracket) {
    std::set<std::pair<std::string, DeviceKind>> known;
    for (const PlannedRow& row : rows) {
      if (!row.baseline || !known.insert({row.trial.network, row.trial.device_kind}).second) continue;
      all.push_back(extra_run(config, row, ++number));
      all.back().bracket = bracket;
    }
  }
  return all;
}

// Rehearsals in each of the first blocks: their speed varies as that of the rows does.
constexpr std::size_t kMostRehearsals = 3;

// Behind the re-runs between this block and the next one.
std::vector<Trial>::const_iterator after_block(const std::vector<Trial>& trials, int block) {
  return std::find_if(trials.begin(), trials.end(), [&](const Trial& trial) { return trial.block > block; });
}

}  // namespace

void shuffle_block(const Config& config, int block, std::vector<Trial>& trials) {
  std::uint64_t draw = 0;
  shuffle(Random(config.seeds.front(), (static_cast<std::uint64_t>(block) << 32) + kShuffleStream), draw, trials);
}

std::vector<Trial> ordered_trials(const Config& config, const std::vector<PlannedRow>& rows, const CheckedRows& checked,
                                  const std::vector<Trial>& rehearsals) {
  const std::vector<Trial> trials = blocks(config, rows);
  // Numbered after all others, so that numbers of trials do not depend on `measure.level`.
  const int last = static_cast<int>(trials.size());
  const std::vector<Trial> extra = brackets(config, rows, last);
  std::vector<Trial> checks = extra_checks(trials, checked);
  int number = last + static_cast<int>(extra.size());
  for (Trial& check : checks) check.number = ++number;
  std::vector<Trial> all = with_brackets(trials, extra);
  all.insert(after_block(all, 1), checks.begin(), checks.end());
  for (std::size_t repeat = 0; repeat < std::min(config.seeds.size(), kMostRehearsals); ++repeat) {
    std::vector<Trial> some = rehearsals;
    for (Trial& rehearsal : some) {
      rehearsal.number = ++number;
      rehearsal.seed = config.seeds[repeat];
    }
    all.insert(after_block(all, static_cast<int>(repeat) + 1), some.begin(), some.end());
  }
  return all;
}

}  // namespace mgcompare
