#pragma once

// What a user optimises for, as one figure of a row.

#include <string>
#include <string_view>

#include "results/results_store.h"

namespace mgcompare {

enum class Objective {
  time_to_accuracy,                 // training seconds until the target accuracy
  throughput,                       // samples/s
  device_seconds,                   // cost: devices times the seconds until the target, or of the whole training
};

inline constexpr Objective kObjectives[] = {Objective::time_to_accuracy, Objective::throughput,
                                            Objective::device_seconds};

// "time_to_accuracy"
std::string_view to_string(Objective objective);
// Throws Error for an unknown name.
Objective objective_of(std::string_view name);

double throughput(const Row& row);
double throughput_if_reached(const Row& row);      // nan: the target was not reached
double time_to_target(const Row& row);             // nan: not reached
double epochs_to_target(const Row& row);           // nan: not reached
double device_seconds(const Row& row);             // of the whole training
double device_seconds_to_target(const Row& row);   // nan: not reached

}  // namespace mgcompare
