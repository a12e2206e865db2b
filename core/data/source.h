#pragma once

// The kinds of data sets. Each defines its own samples and classes; the rest of the program asks it.

#include <functional>
#include <string>

#include "config/config.h"
#include "data/dataset.h"
#include "data/fetch.h"
#include "data/labels.h"

namespace mgcompare {

// Where data may be found.
struct DataPlaces {
  std::string given_folder;         // --data; empty: not given
  std::string environment_folder;   // MGCOMPARE_DATA
  std::string cache_folder;         // with one folder for each set; empty: nothing is downloaded
  Download download;

  // From the environment. A relative XDG_CACHE_HOME is ignored.
  static DataPlaces standard(const std::string& given_folder);
};

// Gets one line for each source that was tried.
using DataLog = std::function<void(const std::string&)>;

struct DataSourceEntry {
  // What is known before the data are loaded: reads headers and counts lines, and downloads nothing. Throws DataError.
  DataSummary (*describe)(const DataConfig& config, const DataPlaces& places);
  // All samples, without the config's limits and without a fingerprint. Sets that are drawn may leave out the samples that these limits
  // do, and give `training_set`. Throws DataError.
  Dataset (*load)(const DataConfig& config, const DataPlaces& places, const DataLog& log);
  // The labels of all training samples of a set that describe() found, for checks before they are trained. Null: they are known to be right, as
  // those of published and drawn sets. Throws DataError.
  Labels (*training_labels)(const DataConfig& config, const DataSummary& data) = nullptr;
};

const DataSourceEntry& source_of(DataSource set);

// The numbers of samples to be drawn of a set of `whole`, each of which depends on its own number only: those that the config's limits
// leave, and all training samples if some of the last are held back.
DataSummary drawn_part(const DataConfig& config, DataSummary whole);

}  // namespace mgcompare
