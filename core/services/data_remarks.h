#pragma once

// Doubts about the data of a config, before the first trial: samples out of the range in which networks learn, classes without samples,
// too few steps for running statistics.

#include <string>
#include <vector>

#include "config/config.h"
#include "config/sample_spec.h"

namespace mgcompare {

// Warnings; `data` is what describe_dataset() told. Throws DataError.
std::vector<std::string> data_remarks(const Config& config, const DataSummary& data);

}  // namespace mgcompare
