#pragma once

// Whether the running statistics of batch_norm, with which a network is evaluated, follow the training in time.

#include <cstddef>
#include <string>

#include "config/config.h"

namespace mgcompare {

// A warning if after the last step with the largest batch they still consist of their initial values to a large part; otherwise empty.
// `samples`: of the training set.
std::string statistics_lag_warning(const Config& config, std::size_t samples);

}  // namespace mgcompare
