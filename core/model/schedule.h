#pragma once

// The learning rate as a function of how many samples were seen: the same for every number of ranks and every batch.

#include <cstddef>

#include "config/config.h"

namespace mgcompare {

// How much the batch rule multiplies the learning rate.
double batch_factor(const ScheduleConfig& schedule, std::size_t global_batch);

// The rate at `epoch_of_samples` (samples seen / samples an epoch, from 0). Warm-up rises linearly to the scheduled rate:
// from the rate before the batch rule where that rule raises it, else from 0.
double learning_rate_at(const OptimizerConfig& optimizer, const ScheduleConfig& schedule, double epoch_of_samples,
                        std::size_t epochs, std::size_t global_batch);

}  // namespace mgcompare
