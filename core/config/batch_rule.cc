#include "config/batch_rule.h"

#include <cmath>

namespace mgcompare {

double batch_factor(const ScheduleConfig& schedule, std::size_t global_batch) {
  const double ratio = static_cast<double>(global_batch) / static_cast<double>(schedule.base_batch);
  if (schedule.batch_rule == BatchRule::linear) return ratio;
  if (schedule.batch_rule == BatchRule::sqrt) return std::sqrt(ratio);
  return 1;
}

}  // namespace mgcompare
