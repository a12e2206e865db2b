#pragma once

// Describes and loads the data set of a config.

#include <string>

#include "data/source.h"

namespace mgcompare {

// What the set has, without loading or downloading it. Where it is missing and the config has a fallback, that of the fallback.
// Throws DataError.
DataSummary describe_dataset(const DataConfig& config, const DataPlaces& places);

// Applies the config's limits on samples. The fingerprint covers the whole set without limits, so that trials on different
// parts of a set have the same one. A set that is neither at hand nor available from the network is replaced by the config's
// fallback; one that is there but wrong never is. Throws DataError. `log` may be empty.
Dataset load_dataset(const DataConfig& config, const DataPlaces& places, const DataLog& log);

// SHA-256 over shapes, samples and targets of both splits.
std::string fingerprint_of(const Dataset& dataset);

}  // namespace mgcompare
