#pragma once

// What can be told of the training samples of a set without loading it.

#include <string>
#include <vector>

#include "config/config.h"
#include "config/sample_spec.h"
#include "config/stored_values.h"

namespace mgcompare {

struct TrainingGlance {
  std::vector<StoredValues> channels;  // estimated from some samples, for bytes of a set that is not read as uniform; empty: not known
  std::string unseen_classes;          // a warning if some classes have no training sample; otherwise empty
};

// `spec` is that of describe_dataset(). A set that is missing is not known. Throws DataError.
TrainingGlance glance_at(const DataConfig& config, const SampleSpec& spec);

}  // namespace mgcompare
