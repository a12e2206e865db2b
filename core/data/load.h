#pragma once

// From a config to the samples, by the first of: the folder given, MGCOMPARE_DATA, the cache, a download, and, only
// where the config allows it, the built-in digits. A folder that was named is used or is an error, never passed over.

#include <functional>
#include <string>

#include "config/config.h"
#include "data/dataset.h"
#include "data/mnist.h"

namespace mgcompare {

struct DataPlaces {
  std::string given_folder;         // --data; empty: not given
  std::string environment_folder;   // MGCOMPARE_DATA
  std::string cache_folder;         // empty: nowhere to keep a download, so none is made
  Download download;

  // With the process's environment and the known mirrors. A relative XDG_CACHE_HOME is ignored.
  static DataPlaces standard(const std::string& given_folder);
};

// Says in one line each what was found where, and what was tried in vain.
using DataLog = std::function<void(const std::string&)>;

// Applies the config's limits on samples. The fingerprint is of the whole set, before the limits: two trials on parts
// of one set are on the same data. Throws DataError.
Dataset load_dataset(const DataConfig& config, const DataPlaces& places, const DataLog& log);

// SHA-256 over shapes, samples and labels of both splits.
std::string fingerprint_of(const Dataset& dataset);

}  // namespace mgcompare
