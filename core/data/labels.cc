#include "data/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/number_text.h"
#include "data/dataset.h"

namespace mgcompare {
namespace {

// From this share of one class on, an accuracy says little by itself.
constexpr double kLargeShare = 0.6;

// Whether there are several labels from `begin` to `end`, and all are the same.
bool are_equal(const Labels& labels, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin + 1; i < end; ++i)
    if (labels.at(i) != labels.at(begin)) return false;
  return end > begin + 1;
}

struct LargestLabel {
  std::int64_t value = 0;
  std::size_t index = 0;
};

LargestLabel largest_label(const Labels& labels) {
  LargestLabel largest;
  for (std::size_t i = 0; i < labels.count(); ++i)
    if (const std::int64_t label = labels.at(i); label > largest.value) largest = {label, i};
  return largest;
}

std::string one_class(const Labels& labels, std::size_t count) {
  return fmt::format("{}: all {} targets{} are {}: with one class there is nothing to learn", labels.path, thousands(count),
                     count < labels.count() ? " that are trained" : "", labels.at(0));
}

// Which of the classes the first `count` labels have.
std::vector<bool> seen_in(const Labels& labels, std::size_t classes, std::size_t count) {
  std::vector<bool> seen(classes);
  for (std::size_t i = 0; i < count; ++i)
    if (const std::int64_t label = labels.at(i); label >= 0 && static_cast<std::size_t>(label) < classes) seen[static_cast<std::size_t>(label)] = true;
  return seen;
}

// "(class 3)", "(the first is class 3)"
std::string first_of(const std::vector<bool>& missing, std::size_t number) {
  return fmt::format("({}{})", number == 1 ? "class " : "the first is class ", std::find(missing.begin(), missing.end(), true) - missing.begin());
}

// Why some samples are not trained, and what to do if they are sorted.
std::string limit_text(const Labels& labels, std::size_t trained, const DataConfig& config) {
  const std::string set = fmt::format("of the {} samples", thousands(labels.samples));
  const std::string what = config.train_samples > 0 ? fmt::format("`data.train_samples` takes the first {} {}", thousands(trained), set)
                                                    : fmt::format("`data.validation_samples` holds back the last {} {}", thousands(labels.samples - trained), set);
  return what + ": if they are sorted by class, save them in a random order";
}

}  // namespace

void expect_several_classes(const Labels& train) {
  if (are_equal(train, 0, train.count())) throw DataError(one_class(train, train.count()) + "; check how they were saved");
}

std::size_t classes_of(std::size_t given, const Labels& train, const Labels* test) {
  if (given > 0) return given;
  expect_several_classes(train);
  const LargestLabel largest = largest_label(train);
  const auto classes = static_cast<std::size_t>(largest.value) + 1;
  if (test == nullptr) return classes;
  if (const LargestLabel other = largest_label(*test); other.value > largest.value)
    throw DataError(fmt::format("{}: target {} of sample {}: the largest of {} is {}, so that no training sample has this class: number the labels "
                                "of both files in the same way, or write `data.classes: {}` if this is meant", test->path, other.value,
                                other.index / test->targets, train.path, largest.value, other.value + 1));
  return classes;
}

std::string label_warning(const Labels& train, std::size_t classes, const DataConfig& config) {
  const std::size_t samples = training_samples(config, train.samples), count = samples * train.targets;
  const bool is_limited = samples < train.samples;
  if (are_equal(train, 0, count)) return fmt::format("{}; {}", one_class(train, count), is_limited ? limit_text(train, samples, config) : "check how they were saved");
  if (train.are_symbols) return "";
  const std::vector<bool> in_file = seen_in(train, classes, train.count());
  if (const auto unseen = static_cast<std::size_t>(std::count(in_file.begin(), in_file.end(), false)); unseen > 0 && config.classes == 0) {
    std::vector<bool> missing = in_file;
    missing.flip();
    return fmt::format("{}: {} of the {} classes {} no training sample {}: number the labels from 0 without gaps, unless this is meant", train.path,
                       thousands(unseen), thousands(classes), unseen == 1 ? "has" : "have", first_of(missing, unseen));
  }
  if (!is_limited) return "";
  std::vector<bool> missing = seen_in(train, classes, count);
  for (std::size_t i = 0; i < classes; ++i) missing[i] = in_file[i] && !missing[i];
  const auto unseen = static_cast<std::size_t>(std::count(missing.begin(), missing.end(), true));
  if (unseen == 0) return "";
  return fmt::format("{}: {} of the {} classes {} no sample among the {} that are trained {}; {}", train.path, thousands(unseen), thousands(classes),
                     unseen == 1 ? "has" : "have", thousands(samples), first_of(missing, unseen), limit_text(train, samples, config));
}

std::string majority_warning(const Labels& train, std::size_t classes, const DataConfig& config, double target_accuracy) {
  if (train.are_symbols) return "";
  const std::size_t count = training_samples(config, train.samples) * train.targets;
  std::vector<std::size_t> counts(classes);
  for (std::size_t i = 0; i < count; ++i)
    if (const std::int64_t label = train.at(i); label >= 0 && static_cast<std::size_t>(label) < classes) ++counts[static_cast<std::size_t>(label)];
  const auto largest = std::max_element(counts.begin(), counts.end());
  if (largest == counts.end() || *largest == count) return "";  // of one class there is another warning
  const double share = static_cast<double>(*largest) / static_cast<double>(count);
  const bool has_target = target_accuracy > 0 && target_accuracy <= share;
  if (share < kLargeShare && !has_target) return "";
  return fmt::format("{}: {:.3g} % of the training targets are of class {}, so a network that always answers it has about this accuracy{}", train.path,
                     100 * share, largest - counts.begin(), has_target ? fmt::format(": choose a `target_accuracy` above it, not {:g}", target_accuracy) : "");
}

std::string validation_warning(const Labels& train, const DataConfig& config) {
  const std::size_t held = config.validation_samples;
  if (train.are_symbols || held < 2 || held >= train.samples) return "";
  const std::size_t begin = (train.samples - held) * train.targets;
  if (!are_equal(train, begin, train.count())) return "";
  return fmt::format("{}: all {} validation samples are of class {}: `data.validation_samples` holds back the last {} of the {} samples; if they are sorted by "
                     "class, save them in a random order", train.path, thousands(held), train.at(begin), thousands(held), thousands(train.samples));
}

}  // namespace mgcompare
