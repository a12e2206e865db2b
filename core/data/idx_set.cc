#include "data/idx_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
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

// `labels` must stay alive.
template <class Label> Labels labels_in(const std::string& path, const std::vector<Label>& labels) {
  return {.path = path, .samples = labels.size(), .at = [&labels](std::size_t i) { return std::int64_t{labels[i]}; }, .doubt = {}};
}

// `test` may be empty.
template <class Label>
std::size_t classes_in(const DataConfig& config, const LabelledFiles& train_files, const std::vector<Label>& train, const LabelledFiles& test_files,
                       const std::vector<Label>& test) {
  const Labels others = labels_in(test_files.labels, test);
  return classes_of(config.classes, labels_in(train_files.labels, train), test.empty() ? nullptr : &others);
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
  set.spec.classes = classes_in(config, train, set.train.targets, test, set.test.targets);
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
  const std::vector<std::uint8_t> test_labels = test.labels.empty() ? std::vector<std::uint8_t>() : read_idx(test.labels, 1).bytes;
  summary.spec.classes = classes_in(config, train, read_idx(train.labels, 1).bytes, test, test_labels);
  return summary;
}

Labels training_labels(const DataConfig& config, const DataSummary&) {
  const std::string path = training_files_of(config).labels;
  const auto bytes = std::make_shared<const std::vector<std::uint8_t>>(read_idx(path, 1).bytes);
  return {.path = path, .samples = bytes->size(), .at = [bytes](std::size_t i) { return std::int64_t{(*bytes)[i]}; }, .doubt = {}};
}

}  // namespace

const DataSourceEntry kIdxSet = {describe, load, training_labels};

}  // namespace mgcompare
