#pragma once

#include <algorithm>
#include <cstddef>

#include "plan/trial.h"

namespace mgcompare {

// The batch of a trial as `scaling.batch` lists it: of each device in weak scaling.
inline std::size_t listed_batch(const TrialKey& trial) {
  return trial.scaling == ScalingMode::weak ? trial.global_batch / std::max<std::size_t>(1, trial.devices) : trial.global_batch;
}

}  // namespace mgcompare
