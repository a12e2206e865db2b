#pragma once

// How the learning rate scales with the global batch.

#include <cstddef>

#include "config/config.h"

namespace mgcompare {

// The factor of the batch rule.
double batch_factor(const ScheduleConfig& schedule, std::size_t global_batch);

}  // namespace mgcompare
