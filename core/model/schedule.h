#pragma once

// The learning rate as a function of the samples processed so far, independent of the number of ranks.

#include <cstddef>

#include "config/config.h"

namespace mgcompare {

// `epoch_of_samples`: samples processed / samples per epoch, from 0. Warm-up rises linearly to the scheduled rate: from the
// rate before the batch rule if the rule raises it, otherwise from 0.
double learning_rate_at(const OptimizerConfig& optimizer, const ScheduleConfig& schedule, double epoch_of_samples,
                        std::size_t epochs, std::size_t global_batch);

}  // namespace mgcompare
