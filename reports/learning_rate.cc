#include "reports/learning_rate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "config/batch_rule.h"

namespace mgcompare {

double learning_rate_of(const Row& row) {
  return row.config->optimizer.learning_rate * batch_factor(row.config->schedule, row.trial.global_batch);
}

std::string rate_rule_of(const Row& row) {
  const ScheduleConfig& schedule = row.config->schedule;
  std::vector<std::string> rules;
  if (schedule.batch_rule != BatchRule::none)
    rules.push_back(fmt::format("{} from {:g} at batch {}", to_string(schedule.batch_rule), row.config->optimizer.learning_rate, schedule.base_batch));
  if (schedule.warm_up_epochs > 0)
    rules.push_back(fmt::format("warm-up of {:g} epoch{}", schedule.warm_up_epochs, schedule.warm_up_epochs == 1 ? "" : "s"));
  if (schedule.kind == ScheduleKind::step)
    rules.push_back(fmt::format("times {:g} after epoch{} {:g}", schedule.factor, schedule.at.size() == 1 ? "" : "s", fmt::join(schedule.at, ", ")));
  if (schedule.kind == ScheduleKind::cosine) rules.push_back(fmt::format("cosine to {:g}", schedule.final_rate));
  return rules.empty() ? "constant" : fmt::format("{}", fmt::join(rules, ", "));
}

std::size_t batch_per_device(const TrialKey& trial) {
  const std::size_t devices = std::max<std::size_t>(1, trial.devices);
  return (trial.global_batch + devices - 1) / devices;
}

}  // namespace mgcompare
