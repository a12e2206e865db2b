#pragma once

// Whether the inputs of a network are in the range in which networks learn.

#include <string>
#include <vector>

#include "config/config.h"
#include "config/sample_spec.h"
#include "config/stored_values.h"

namespace mgcompare {

// A warning if samples with these values in each channel are far from the range about -1 to 1 once they are prepared; otherwise
// empty. `samples`: as the network reads them (as_read()). Tokens are no numbers, and have no range.
std::string input_range_warning(const PreparationConfig& config, const SampleSpec& samples, const std::vector<StoredValues>& channels);

}  // namespace mgcompare
