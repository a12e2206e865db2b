#pragma once

// Loads the data set of a config from the first of: the given folder, MGCOMPARE_DATA, the cache, a download, and, if the
// config allows it, the built-in digits. A folder that the user named is used or is an error; it is never skipped.

#include <functional>
#include <string>

#include "config/config.h"
#include "data/dataset.h"
#include "data/mnist.h"

namespace mgcompare {

struct DataPlaces {
  std::string given_folder;         // --data; empty: not given
  std::string environment_folder;   // MGCOMPARE_DATA
  std::string cache_folder;         // empty: nothing is downloaded
  Download download;

  // From the environment, with the default mirrors. A relative XDG_CACHE_HOME is ignored.
  static DataPlaces standard(const std::string& given_folder);
};

// Gets one line for each source that was tried.
using DataLog = std::function<void(const std::string&)>;

// Applies the config's limits on samples. The fingerprint covers the whole set without limits, so that trials on different
// parts of a set have the same one. Throws DataError. `log` may be empty.
Dataset load_dataset(const DataConfig& config, const DataPlaces& places, const DataLog& log);

// SHA-256 over shapes, samples and labels of both splits.
std::string fingerprint_of(const Dataset& dataset);

}  // namespace mgcompare
