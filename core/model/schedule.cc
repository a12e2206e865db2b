#include "model/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "config/batch_rule.h"

namespace mgcompare {

double learning_rate_at(const OptimizerConfig& optimizer, const ScheduleConfig& schedule, double epoch_of_samples,
                        std::size_t epochs, std::size_t global_batch) {
  const double factor = batch_factor(schedule, global_batch);
  const double full = optimizer.learning_rate * factor;
  double rate = full;
  if (schedule.kind == ScheduleKind::step) {
    for (double at : schedule.at) {
      // The position is a quotient; rounding must not delay a step by one batch.
      if (epoch_of_samples >= at - 1e-9) rate *= schedule.factor;
    }
  } else if (schedule.kind == ScheduleKind::cosine) {
    const double progress = std::clamp(epoch_of_samples / static_cast<double>(std::max<std::size_t>(epochs, 1)), 0.0, 1.0);
    rate = schedule.final_rate + (full - schedule.final_rate) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
  }
  if (epoch_of_samples < schedule.warm_up_epochs) {
    const double start = factor > 1 ? optimizer.learning_rate : 0;
    rate = start + (rate - start) * epoch_of_samples / schedule.warm_up_epochs;
  }
  return rate;
}

}  // namespace mgcompare
