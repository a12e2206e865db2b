#include "data/idx_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "data/folders.h"
#include "data/idx.h"
#include "data/known_file.h"

namespace mgcompare {
namespace {

// The files of one split. Both strings are empty if neither is there.
LabelledFiles files_of(const std::string& folder, const std::string& split) {
  std::vector<std::string> names;
  for (int dimensions = 2; dimensions <= 4; ++dimensions)
    for (const char separator : {'-', '.'}) names.push_back(fmt::format("{}-images{}idx{}-ubyte", split, separator, dimensions));
  const auto samples = only_one(folder, names);
  const auto labels = only_one(folder, {split + "-labels-idx1-ubyte", split + "-labels.idx1-ubyte"});
  if (!samples && labels)
    throw DataError(fmt::format("{}: {}-images-idx3-ubyte (or -idx2-, -idx4-, or .gz) is missing", folder, split));
  if (samples && !labels) throw DataError(fmt::format("{}: {}-labels-idx1-ubyte (or .gz) is missing", folder, split));
  return {samples.value_or(""), labels.value_or("")};
}

LabelledFiles training_files_of(const DataConfig& config) {
  expect_no_file(config.path, "train-images-idx3-ubyte and train-labels-idx1-ubyte");
  LabelledFiles files = files_of(config.path, "train");
  if (files.samples.empty())
    throw DataMissing(fmt::format("{}: train-images-idx3-ubyte (or -idx2-, -idx4-, or .gz) is missing", config.path));
  return files;
}

std::size_t classes_in(const Split& train, const Split& test) {
  std::uint32_t largest = 0;
  for (const Split* split : {&train, &test})
    for (const std::uint32_t label : split->targets) largest = std::max(largest, label);
  return largest + std::size_t{1};
}

Dataset load(const DataConfig& config, const DataPlaces&, const DataLog&) {
  const LabelledFiles train = training_files_of(config), test = files_of(config.path, "t10k");
  Dataset set;
  set.name = "idx";
  set.origin = config.path;
  LabelledSplit read = read_labelled(train, config.classes);
  set.spec.shape = read.shape;
  set.train = std::move(read.split);
  if (!test.samples.empty()) {
    LabelledSplit other = read_labelled(test, config.classes);
    if (other.shape != set.spec.shape)
      throw DataError(fmt::format("{} has samples of {} values, but {} of {}: they do not belong together", test.samples,
                                  fmt::join(other.shape, " x "), train.samples, fmt::join(set.spec.shape, " x ")));
    set.test = std::move(other.split);
  }
  set.spec.classes = config.classes > 0 ? config.classes : classes_in(set.train, set.test);
  return set;
}

DataSummary describe(const DataConfig& config, const DataPlaces&) {
  const LabelledFiles train = training_files_of(config), test = files_of(config.path, "t10k");
  const IdxArray samples = read_idx_header(train.samples, 0);
  DataSummary summary;
  summary.spec.shape = sample_shape_of(samples);
  summary.train_samples = samples.shape[0];
  summary.place = config.path;
  if (!test.samples.empty()) summary.test_samples = read_idx_header(test.samples, 0).shape[0];
  summary.spec.classes = config.classes;
  if (summary.spec.classes > 0) return summary;
  std::uint8_t largest = 0;
  for (const std::string* labels : {&train.labels, &test.labels})
    if (!labels->empty())
      for (const std::uint8_t label : read_idx(*labels, 1).bytes) largest = std::max(largest, label);
  summary.spec.classes = largest + std::size_t{1};
  return summary;
}

}  // namespace

const DataSourceEntry kIdxSet = {describe, load};

}  // namespace mgcompare
