#pragma once

// What a user wants most, as one figure of a row.

#include <string>
#include <string_view>

#include "results/results_store.h"

namespace mgcompare {

enum class Objective {
  time_to_accuracy,                 // training seconds up to the target accuracy
  throughput,                       // samples/s
  device_seconds,                   // what is paid for: devices times the seconds up to the target, or of the training
};

inline constexpr Objective kObjectives[] = {Objective::time_to_accuracy, Objective::throughput,
                                            Objective::device_seconds};

// "time_to_accuracy"
std::string_view to_string(Objective objective);
// Throws Error for a name that does not exist.
Objective objective_of(std::string_view name);

double throughput(const Row& row);
double time_to_target(const Row& row);             // nan where it was not reached
double device_seconds(const Row& row);             // of the whole training
double device_seconds_to_target(const Row& row);   // nan where it was not reached

}  // namespace mgcompare
