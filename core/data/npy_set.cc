#include "data/npy_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>

#include "data/npy.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxClasses = 1u << 24;
constexpr std::int64_t kMaxExactFloat = 1 << 24;  // integers up to here are exact as float

struct Arrays {
  std::string x_path, y_path;
  NpyArray x, y;

  std::size_t samples() const { return x.shape[0]; }
  Shape shape() const {
    return x.shape.size() == 1 ? Shape{1} : Shape(x.shape.begin() + 1, x.shape.end());
  }
  std::size_t targets() const { return y.shape.size() == 1 ? 1 : y.shape[1]; }
};

// Whether each sample has one target 1 and otherwise 0. Targets of positions may have this form too: where there are as many as
// positions, they are not taken for one-hot labels.
bool is_one_hot(const Arrays& arrays) {
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

void check(const Arrays& arrays) {
  if (arrays.x.shape.empty()) throw DataError(fmt::format("{}: it holds one number; samples are its first axis", arrays.x_path));
  if (arrays.y.shape.empty() || arrays.y.shape.size() > 2) {
    throw DataError(fmt::format("{}: targets are one class for each sample, or one for each position of a sample; its shape is ({})",
                                arrays.y_path, fmt::join(arrays.y.shape, ", ")));
  }
  if (arrays.y.element == ElementType::float32)
    throw DataError(fmt::format("{}: labels are integers, counted from 0, but its values are float32 of shape ({}): {}", arrays.y_path,
                                fmt::join(arrays.y.shape, ", "), labels_advice(arrays.y.shape)));
  if (arrays.x.shape[0] != arrays.y.shape[0])
    throw DataError(fmt::format("{} holds {} samples, but {} holds {} targets: they do not belong together", arrays.x_path,
                                arrays.x.shape[0], arrays.y_path, arrays.y.shape[0]));
  if (is_one_hot(arrays))
    throw DataError(fmt::format("{}: the labels are one-hot, of shape ({}), but labels are integers of shape ({}): save "
                                "y.argmax(axis=1)", arrays.y_path, fmt::join(arrays.y.shape, ", "), arrays.y.shape[0]));
}

Arrays open_arrays(const std::string& folder, const std::string& ending) {
  Arrays arrays;
  arrays.x_path = (fs::path(folder) / ("x" + ending + ".npy")).string();
  arrays.y_path = (fs::path(folder) / ("y" + ending + ".npy")).string();
  std::error_code ignored;
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

void expect_same_form(const Arrays& train, const Arrays& test) {
  if (train.shape() != test.shape() || train.targets() != test.targets() || train.x.element != test.x.element) {
    throw DataError(fmt::format("{} and {} have samples of ({}) and ({}), of type {} and {}, with {} and {} targets: shapes and types must agree",
                                train.x_path, test.x_path, fmt::join(train.shape(), ", "), fmt::join(test.shape(), ", "),
                                name_of(train.x.element), name_of(test.x.element), train.targets(), test.targets()));
  }
}

std::uint64_t largest_target(const Arrays& arrays) {
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < arrays.y.count(); ++i) {
    const std::int64_t target = arrays.y.integer(i);
    if (target < 0 || static_cast<std::uint64_t>(target) >= kMaxClasses)
      throw DataError(fmt::format("{}: target {} of sample {}: classes go from 0 to {} at most", arrays.y_path, target,
                                  i / arrays.targets(), kMaxClasses - 1));
    largest = std::max(largest, static_cast<std::uint64_t>(target));
  }
  return largest;
}

std::vector<std::uint32_t> targets_of(const Arrays& arrays, std::size_t classes) {
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

// Refuses values that a network cannot read: not finite, or integers that are not exact as float. Adds the extremes of integers.
void check_values(const Arrays& arrays, Extremes& extremes) {
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max(), largest = std::numeric_limits<std::int64_t>::min();
  std::size_t smallest_at = 0, largest_at = 0;
  const std::size_t count = arrays.x.count(), size = count / arrays.samples();
  for (std::size_t i = 0; i < count; ++i) {
    if (arrays.x.element == ElementType::float32) {
      const float value = reinterpret_cast<const float*>(arrays.x.values.data())[i];
      if (!std::isfinite(value)) throw DataError(fmt::format("{}: sample {} has the value {}: use finite numbers", arrays.x_path, i / size, value));
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
bool may_be_tokens(const Arrays& arrays) { return arrays.x.element != ElementType::float32 && arrays.shape().size() == 1; }

Split split_of(const Arrays& arrays, std::size_t classes) {
  Split split;
  split.samples = arrays.samples();
  split.values = arrays.x.values;
  split.targets = targets_of(arrays, classes);
  return split;
}

std::size_t classes_of(const DataConfig& config, const Arrays& train, const Arrays* test) {
  if (config.classes > 0) return config.classes;
  return std::max(largest_target(train), test != nullptr ? largest_target(*test) : 0) + 1;
}

SampleSpec spec_of(const Arrays& train, std::size_t classes) {
  SampleSpec spec;
  spec.shape = train.shape();
  spec.element = train.x.element;
  spec.classes = classes;
  spec.targets = train.targets();
  return spec;
}

DataSummary describe(const DataConfig& config, const DataPlaces&) {
  const Arrays train = open_arrays(config.path, "");
  std::optional<Arrays> test;
  if (has_test(config.path)) {
    test = open_arrays(config.path, "_test");
    expect_same_form(train, *test);
  }
  DataSummary summary{spec_of(train, classes_of(config, train, test ? &*test : nullptr)), train.samples(), test ? test->samples() : 0};
  if (!may_be_tokens(train)) return summary;
  Extremes extremes;
  check_values(train, extremes);
  if (test) check_values(*test, extremes);
  set_tokens(summary.spec, extremes);
  return summary;
}

Dataset load(const DataConfig& config, const DataPlaces&, const DataLog&) {
  Dataset set;
  set.name = "npy";
  set.origin = config.path;
  const Arrays train = open_arrays(config.path, "");
  Extremes extremes;
  check_values(train, extremes);
  if (has_test(config.path)) {
    const Arrays test = open_arrays(config.path, "_test");
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

}  // namespace

const DataSourceEntry kNpySet = {describe, load};

}  // namespace mgcompare
