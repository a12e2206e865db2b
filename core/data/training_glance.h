#pragma once

// What can be told of the training samples of a set without loading it.

#include <vector>

#include "config/config.h"
#include "config/sample_spec.h"
#include "config/stored_values.h"
#include "data/labels.h"

namespace mgcompare {

struct TrainingGlance {
  std::vector<StoredValues> channels;  // estimated from some samples, for bytes of a set that is not read as uniform; empty: not known
  Labels labels;                       // of all training samples, if they may be wrong
};

// `data` is what describe_dataset() told. A set that is missing is not known. Throws DataError.
TrainingGlance glance_at(const DataConfig& config, const DataSummary& data);

}  // namespace mgcompare
