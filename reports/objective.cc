#include "reports/objective.h"

#include <limits>

#include "results/target_crossing.h"

namespace mgcompare {

std::string_view to_string(Objective objective) {
  constexpr std::string_view kNames[] = {"time_to_accuracy", "throughput", "device_seconds"};
  return kNames[static_cast<int>(objective)];
}

Objective objective_of(std::string_view name) {
  for (const Objective objective : kObjectives) {
    if (to_string(objective) == name) return objective;
  }
  throw Error("there is no objective '" + std::string(name) + "'; choose time_to_accuracy, throughput or device_seconds");
}

double throughput(const Row& row) { return row.result.samples_per_second; }

double time_to_target(const Row& row) {
  return row.result.seconds_to_target > 0 ? row.result.seconds_to_target : std::numeric_limits<double>::quiet_NaN();
}

double throughput_if_reached(const Row& row) {
  return row.result.seconds_to_target > 0 ? throughput(row) : std::numeric_limits<double>::quiet_NaN();
}

double epochs_to_target(const Row& row) {
  if (!(row.result.seconds_to_target > 0)) return std::numeric_limits<double>::quiet_NaN();
  const double epochs = crossing_of(row.result.epochs, row.config->target_accuracy).epochs;
  return epochs > 0 ? epochs : std::numeric_limits<double>::quiet_NaN();
}

double device_seconds(const Row& row) { return row.result.seconds_training * static_cast<double>(row.trial.devices); }

double device_seconds_to_target(const Row& row) { return time_to_target(row) * static_cast<double>(row.trial.devices); }

}  // namespace mgcompare
