#include "data/npy_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/number_text.h"
#include "data/folders.h"
#include "data/npy.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxClasses = 1u << 24;
// Of the values of a file that a plan checks, which takes about a second. The rest is checked when a run loads them, before its first trial.
constexpr std::size_t kMostPlannedBytes = std::size_t{1} << 30;
constexpr std::int64_t kMaxExactFloat = 1 << 24;  // integers up to here are exact as float

// Whether each sample has one target 1 and otherwise 0. Targets of positions may have this form too: where there are as many as
// positions, they are not taken for one-hot labels.
bool is_one_hot(const NpySplit& arrays) {
  const std::size_t columns = arrays.targets();
  const bool has_positions = arrays.shape().size() > 1 || arrays.x.element != ElementType::float32;
  if (columns < 2 || (has_positions && columns == arrays.shape().front())) return false;
  for (std::size_t i = 0; i < arrays.y.count(); i += columns) {
    std::size_t ones = 0;
    for (std::size_t k = i; k < i + columns; ++k) {
      const std::int64_t target = arrays.y.integer(k);
      if (target != 0 && target != 1) return false;
      ones += target == 1 ? 1 : 0;
    }
    if (ones != 1) return false;
  }
  return true;
}

void check(const NpySplit& arrays) {
  if (arrays.x.shape.empty()) throw DataError(fmt::format("{}: it holds one number; samples are its first axis", arrays.x_path));
  if (arrays.y.shape.empty() || arrays.y.shape.size() > 2) {
    throw DataError(fmt::format("{}: targets are one class for each sample, or one for each position of a sample; its shape is ({})",
                                arrays.y_path, fmt::join(arrays.y.shape, ", ")));
  }
  if (arrays.x.shape[0] != arrays.y.shape[0])
    throw DataError(fmt::format("{} holds {} samples, but {} holds {} targets: they do not belong together", arrays.x_path,
                                thousands(arrays.x.shape[0]), arrays.y_path, thousands(arrays.y.shape[0])));
  if (is_one_hot(arrays))
    throw DataError(fmt::format("{}: the labels are one-hot, of shape ({}), but labels are integers of shape ({}): save "
                                "y.argmax(axis=1)", arrays.y_path, fmt::join(arrays.y.shape, ", "), arrays.y.shape[0]));
}

NpySplit open_arrays(const std::string& folder, const std::string& ending) {
  NpySplit arrays;
  arrays.x_path = (fs::path(folder) / ("x" + ending + ".npy")).string();
  arrays.y_path = (fs::path(folder) / ("y" + ending + ".npy")).string();
  std::error_code ignored;
  expect_no_file(folder, "x.npy and y.npy");
  const bool has_x = fs::exists(arrays.x_path, ignored), has_y = fs::exists(arrays.y_path, ignored);
  if (!has_x && !has_y)
    throw DataMissing(fmt::format("no x{0}.npy in {1}: write x{0}.npy and y{0}.npy there as docs/your-own-model.md shows", ending, folder));
  // Not DataMissing: no fallback takes the place of a set that is there in part.
  if (has_x != has_y)
    throw DataError(fmt::format("{} is missing, but {} is there: samples and targets belong together", has_x ? arrays.y_path : arrays.x_path,
                                has_x ? arrays.x_path : arrays.y_path));
  arrays.x = read_npy(arrays.x_path);
  arrays.y = read_npy(arrays.y_path, NpyContent::labels);
  check(arrays);
  return arrays;
}

bool has_test(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(fs::path(folder) / "x_test.npy", ignored) || fs::exists(fs::path(folder) / "y_test.npy", ignored);
}

void expect_same_form(const NpySplit& train, const NpySplit& test) {
  const auto refuse = [](const std::string& one, const std::string& has, const std::string& other, const std::string& other_has, const char* remedy) {
    throw DataError(fmt::format("{} has {}, but {} has {}: {}", one, has, other, other_has, remedy));
  };
  const auto shape = [](const NpySplit& arrays) { return fmt::format("samples of ({})", fmt::join(arrays.shape(), ", ")); };
  const auto type = [](const NpySplit& arrays) { return fmt::format("values of type {}", name_of(arrays.x.element)); };
  const auto targets = [](const NpySplit& arrays) { return fmt::format("{} target{} for each sample", arrays.targets(), arrays.targets() == 1 ? "" : "s"); };
  if (train.shape() != test.shape()) refuse(train.x_path, shape(train), test.x_path, shape(test), "their shapes must agree");
  if (train.x.element != test.x.element)
    refuse(train.x_path, type(train), test.x_path, type(test), "prepare both in the same way, and save them with the same type");
  if (train.targets() != test.targets()) refuse(train.y_path, targets(train), test.y_path, targets(test), "their shapes must agree");
}

// What numbers any labels from 0 without gaps.
constexpr char kRenumber[] = "np.unique(y, return_inverse=True)[1] of the labels of all files together";

// Target `i` as a number of a class.
std::uint64_t class_of(const NpySplit& arrays, std::size_t i) {
  const std::int64_t target = arrays.y.integer(i);
  const auto refuse = [&](const std::string& why) {
    throw DataError(fmt::format("{}: target {} of sample {}: {}; save {}", arrays.y_path, target, i / arrays.targets(), why, kRenumber));
  };
  if (target < 0) refuse("labels count from 0");
  if (static_cast<std::uint64_t>(target) >= kMaxClasses) refuse(fmt::format("labels are the numbers of classes, from 0 to {} at most", thousands(kMaxClasses - 1)));
  return static_cast<std::uint64_t>(target);
}

Labels labels_of(const NpySplit& arrays) {
  return {.path = arrays.y_path, .samples = arrays.samples(), .targets = arrays.targets(),
          .at = [arrays](std::size_t i) { return static_cast<std::int64_t>(class_of(arrays, i)); }, .are_symbols = arrays.targets() > 1, .doubt = {}};
}

std::vector<std::uint32_t> targets_of(const NpySplit& arrays, std::size_t classes) {
  std::vector<std::uint32_t> targets(arrays.y.count());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::int64_t target = arrays.y.integer(i);
    if (target < 0 || static_cast<std::size_t>(target) >= classes)
      throw DataError(fmt::format("{}: target {} of sample {}: classes go from 0 to {}", arrays.y_path, target,
                                  i / arrays.targets(), classes - 1));
    targets[i] = static_cast<std::uint32_t>(target);
  }
  return targets;
}

struct Extremes {
  FoundInteger smallest, largest;
};

// Of value `first`, among the first `count`.
std::string not_finite(const NpySplit& arrays, std::size_t first, std::size_t count) {
  const float* const values = reinterpret_cast<const float*>(arrays.x.values.data());
  const std::size_t size = arrays.x.count() / arrays.samples();
  std::size_t samples = 0;
  for (std::size_t begin = first / size * size; begin < count; begin += size)
    samples += std::all_of(values + begin, values + std::min(begin + size, count), [](float value) { return std::isfinite(value); }) ? 0 : 1;
  return fmt::format("{}: sample {} has the value {} at place {}; {} of the first {} samples {} such values: replace them by numbers of the size of the others, or "
                     "leave these samples out of x and y (NumPy: np.isfinite(x) finds them)", arrays.x_path, first / size, values[first], first % size,
                     thousands(samples), thousands((count + size - 1) / size), samples == 1 ? "has" : "have");
}

// Refuses values that a network cannot read: not finite, or integers that are not exact as float. Adds the extremes of integers. Looks at
// the first `most_bytes` only.
void check_values(const NpySplit& arrays, Extremes& extremes, std::size_t most_bytes = std::numeric_limits<std::size_t>::max()) {
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max(), largest = std::numeric_limits<std::int64_t>::min();
  std::size_t smallest_at = 0, largest_at = 0;
  const std::size_t size = arrays.x.count() / arrays.samples();
  const std::size_t count = std::min(arrays.x.count(), most_bytes / size_of(arrays.x.element));
  for (std::size_t i = 0; i < count; ++i) {
    if (arrays.x.element == ElementType::float32) {
      const float value = reinterpret_cast<const float*>(arrays.x.values.data())[i];
      if (!std::isfinite(value))
        throw DataError(not_finite(arrays, i, count));
      continue;
    }
    const std::int64_t value = arrays.x.integer(i);
    if (value > kMaxExactFloat || value < -kMaxExactFloat)
      throw DataError(fmt::format("{}: sample {} has the value {}: integers from {} to {} are exact as float", arrays.x_path,
                                  i / size, value, -kMaxExactFloat, kMaxExactFloat));
    if (value < smallest) smallest = value, smallest_at = i;
    if (value > largest) largest = value, largest_at = i;
  }
  if (arrays.x.element == ElementType::float32) return;
  const auto found = [&](std::int64_t value, std::size_t at) {
    return FoundInteger{value, fmt::format("sample {} of {}", at / size, arrays.x_path)};
  };
  if (extremes.smallest.place.empty() || smallest < extremes.smallest.value) extremes.smallest = found(smallest, smallest_at);
  if (extremes.largest.place.empty() || largest > extremes.largest.value) extremes.largest = found(largest, largest_at);
}

void set_tokens(SampleSpec& spec, const Extremes& extremes) {
  spec.smallest = extremes.smallest;
  spec.largest = extremes.largest;
  const bool are_tokens = !spec.smallest.place.empty() && spec.smallest.value >= 0;
  spec.tokens = are_tokens ? static_cast<std::size_t>(spec.largest.value) + 1 : 0;
}

// Integers with one axis: a network may read them as tokens, and must have enough of them.
bool may_be_tokens(const NpySplit& arrays) { return arrays.x.element != ElementType::float32 && arrays.shape().size() == 1; }

Split split_of(const NpySplit& arrays, std::size_t classes) {
  Split split;
  split.samples = arrays.samples();
  split.values = arrays.x.values;
  split.targets = targets_of(arrays, classes);
  return split;
}

std::size_t classes_of(const DataConfig& config, const NpySplit& train, const NpySplit* test) {
  if (test == nullptr) return classes_of(config.classes, labels_of(train), nullptr);
  const Labels others = labels_of(*test);
  return classes_of(config.classes, labels_of(train), &others);
}

SampleSpec spec_of(const NpySplit& train, std::size_t classes) {
  SampleSpec spec;
  spec.shape = train.shape();
  spec.element = train.x.element;
  spec.classes = classes;
  spec.targets = train.targets();
  return spec;
}

DataSummary describe(const DataConfig& config, const DataPlaces&) {
  const NpySplit train = training_arrays(config.path);
  std::optional<NpySplit> test;
  if (has_test(config.path)) {
    test = open_arrays(config.path, "_test");
    expect_same_form(train, *test);
  }
  DataSummary summary{spec_of(train, classes_of(config, train, test ? &*test : nullptr)), train.samples(), test ? test->samples() : 0,
                      config.path};
  // The network must have enough tokens for the extremes of all values.
  const std::size_t most_bytes = may_be_tokens(train) ? std::numeric_limits<std::size_t>::max() : kMostPlannedBytes;
  Extremes extremes;
  check_values(train, extremes, most_bytes);
  if (test) check_values(*test, extremes, most_bytes);
  if (may_be_tokens(train)) set_tokens(summary.spec, extremes);
  return summary;
}

Dataset load(const DataConfig& config, const DataPlaces&, const DataLog&) {
  Dataset set;
  set.name = "npy";
  set.origin = config.path;
  const NpySplit train = training_arrays(config.path);
  Extremes extremes;
  check_values(train, extremes);
  if (has_test(config.path)) {
    const NpySplit test = open_arrays(config.path, "_test");
    expect_same_form(train, test);
    check_values(test, extremes);
    set.spec = spec_of(train, classes_of(config, train, &test));
    set.test = split_of(test, set.spec.classes);
    set.mapped.push_back(test.x.file);
  } else {
    set.spec = spec_of(train, classes_of(config, train, nullptr));
  }
  if (may_be_tokens(train)) set_tokens(set.spec, extremes);
  set.train = split_of(train, set.spec.classes);
  set.mapped.push_back(train.x.file);
  return set;
}

Labels training_labels(const DataConfig& config, const DataSummary&) { return labels_of(training_arrays(config.path)); }

}  // namespace

NpySplit training_arrays(const std::string& folder) { return open_arrays(folder, ""); }

const DataSourceEntry kNpySet = {describe, load, training_labels};

}  // namespace mgcompare
