#include "reports/breakdown.h"

#include <algorithm>
#include <cmath>

namespace mgcompare {
namespace {

constexpr double kTolerance = 0.02;

}  // namespace

bool Breakdown::reliable() const {
  return exists() && !unmeasured && !is_negative && std::abs(worst - 1) <= kTolerance;
}

Breakdown breakdown_of(const std::vector<const Row*>& repeats) {
  Breakdown mean;
  double counted = 0;
  for (const Row* row : repeats) {
    const Result& result = row->result;
    if (result.ranks.empty() || result.steps == 0) continue;
    const auto steps = static_cast<double>(result.steps), ranks = static_cast<double>(result.ranks.size());
    for (const RankTimes& rank : result.ranks) {
      mean.compute += rank.compute / steps / ranks;
      mean.optimizer += rank.optimizer / steps / ranks;
      mean.exchange += rank.exchange / steps / ranks;
      mean.input += rank.input / steps / ranks;
      mean.waiting += rank.waiting / steps / ranks;
      mean.strategy += rank.strategy / steps / ranks;
      mean.host += rank.harness / steps / ranks;
      mean.overlapped += rank.overlapped / steps / ranks;
      mean.is_negative |= rank.compute < 0;
      const double covered = rank.sum() / result.seconds_training;
      if (std::abs(covered - 1) > std::abs(mean.worst - 1)) mean.worst = covered;
    }
    mean.is_inferred |= result.compute_is_remainder;
    mean.unmeasured |= result.bytes_per_step > 0 && mean.exchange == 0 && mean.overlapped == 0;
    mean.step += result.seconds_training / steps;
    ++counted;
  }
  if (counted == 0) return {};
  for (double* part : {&mean.compute, &mean.optimizer, &mean.exchange, &mean.input, &mean.waiting, &mean.strategy,
                       &mean.host, &mean.step, &mean.overlapped})
    *part /= counted;
  return mean;
}

std::vector<Rung> what_if(const Breakdown& breakdown, double speed_up, std::size_t devices) {
  const auto ideal = static_cast<double>(devices);
  if (!breakdown.reliable() || !(speed_up > 0) || speed_up > ideal) return {};
  std::vector<Rung> rungs = {{"measured", speed_up}};
  double left = breakdown.step;
  // The speed-up depends on this row and the baseline, the costs on this row alone. If the baseline was slow by noise, or
  // smaller batches fit a cache, the costs exceed the gap to the ideal: limit the speed-up.
  const auto without = [&](const char* name, double part) {
    left -= part;
    rungs.push_back({name, left > 0 ? std::min(ideal, speed_up * breakdown.step / left) : ideal});
  };
  without("communication free", breakdown.exchange);
  without("input free", breakdown.input);
  without("no waiting", breakdown.waiting);
  without("own work free", breakdown.strategy);
  rungs.push_back({"ideal", ideal});
  return rungs;
}

}  // namespace mgcompare
