#include "data/load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/environment_variable.h"
#include "base/number_text.h"
#include "base/sha256.h"
#include "base/user_cache.h"
#include "data/cifar10.h"
#include "data/digits.h"
#include "data/drawn_sequences.h"
#include "data/idx_set.h"
#include "data/mnist.h"
#include "data/npy_set.h"
#include "data/sequences.h"
#include "data/synthetic.h"
#include "data/text_set.h"
#include "data/tokens.h"

namespace mgcompare {
namespace {

constexpr std::uint64_t kFallbackSeed = 1;

bool is_sequence(DataSource set) { return set == DataSource::tokens || set == DataSource::text; }

void limit(Split& split, std::size_t samples, const char* key, const std::string& set) {
  if (samples == 0) return;
  if (samples > split.samples) {
    throw DataError(
        fmt::format("data.{} is {}, but {} has only {} samples available: use a smaller value", key, samples, set, split.samples));
  }
  split = part_of(split, 0, samples);
}

// Replaces the test set by the last samples of the training set.
void hold_out(Dataset& set, std::size_t samples) {
  if (samples == 0) return;
  const std::size_t all = set.train.samples;
  if (samples >= all) {
    throw DataError(fmt::format("data.validation_samples holds back {} of the {} training samples of {}: use a smaller value",
                                samples, all, set.name));
  }
  set.test = part_of(set.train, all - samples, all);
  set.train = part_of(set.train, 0, all - samples);
}

bool are_equal(const Split& a, const Split& b) {
  return a.samples == b.samples && a.samples > 0 && a.targets == b.targets &&
         std::equal(a.values.data(), a.values.data() + a.values.size(), b.values.data(), b.values.data() + b.values.size());
}

// Samples of the same form and number as those of the missing set.
Dataset fallback_of(const DataConfig& config, const DataPlaces& places, const std::string& missing, const DataLog& log) {
  const std::string set_name(to_string(config.set)), wanted = config.path.empty() ? set_name : fmt::format("{} ({})", config.path, set_name);
  if (config.fallback == DataFallback::digits) {
    if (config.set != DataSource::mnist)
      throw DataError(fmt::format("{}; `data.fallback: digits` replaces MNIST only: write `fallback: synthetic`", missing));
    Dataset set = source_of(DataSource::digits).load(config, places, log);
    set.origin += fmt::format(", because {} is not available", wanted);
    return set;
  }
  const DataSummary form = describe_dataset(config, places);
  const auto draw = form.spec.tokens > 0 ? draw_sequences : draw_samples;
  Dataset set = draw(form.spec, form.train_samples, form.test_samples, kFallbackSeed);
  set.origin += fmt::format(", because {} is not available", wanted);
  set.remark = fmt::format("{} is not available, so the samples are synthetic: accuracies say nothing about it", wanted);
  return set;
}

// What to do about a set that is missing.
std::string advice(DataSource set) {
  switch (set) {
    case DataSource::mnist:
      return ", or allow built-in digits with `--set data.fallback=digits`";
    case DataSource::tokens:
    case DataSource::text:
      return "; correct `data.path`, or allow drawn sequences with `fallback: synthetic`, `length`, `classes` and `samples` in `data`";
    case DataSource::idx:
      return "; correct `data.path`, or allow drawn samples with `fallback: synthetic`, `shape`, `classes` and `samples` in `data`";
    case DataSource::npy:
      return ", correct `data.path`, or allow drawn samples with `fallback: synthetic`, `shape`, `classes` and `samples` in `data`";
    default:
      return ", or allow drawn samples with `--set data.fallback=synthetic`";
  }
}

// The form of the samples that replace a missing set, as far as the config gives it.
std::optional<DataSummary> drawn_form(const DataConfig& config) {
  if (config.classes == 0 || config.samples == 0) return std::nullopt;
  DataSummary form;
  form.train_samples = config.samples;
  form.test_samples = std::max<std::size_t>(config.samples / kTestShare, 1);
  if (is_sequence(config.set)) {
    if (config.length == 0) return std::nullopt;
    form.spec = sequence_form(config).spec(config.classes);
  } else {
    if (config.shape.empty()) return std::nullopt;
    form.spec.shape = config.shape;
    form.spec.classes = config.classes;
  }
  return form;
}

Dataset load_or_fall_back(const DataConfig& config, const DataPlaces& places, const DataLog& log) {
  try {
    return source_of(config.set).load(config, places, log);
  } catch (const DataMissing& missing) {
    if (config.fallback == DataFallback::none) throw DataError(missing.what() + advice(config.set));
    log(missing.what());
    Dataset set = fallback_of(config, places, missing.what(), log);
    log(fmt::format("data.fallback: {}: {} samples, {}", to_string(config.fallback), thousands(set.train.samples + set.test.samples), set.origin));
    return set;
  }
}

}  // namespace

DataPlaces DataPlaces::standard(const std::string& given_folder) {
  DataPlaces places;
  places.given_folder = given_folder;
  places.environment_folder = environment_variable("MGCOMPARE_DATA");
  if (const std::string cache = user_cache(); !cache.empty()) places.cache_folder = cache + "/datasets";
  places.download.from_publisher = true;
  return places;
}

const DataSourceEntry& source_of(DataSource set) {
  // In the order of DataSource.
  static constexpr std::array<const DataSourceEntry*, kKindNames<DataSource>.size()> kSources = {
      &kMnist, &kDigits, &kCifar10, &kIdxSet, &kNpySet, &kTokens, &kText, &kSynthetic};
  return *kSources[static_cast<std::size_t>(set)];
}

DataSummary drawn_part(const DataConfig& config, DataSummary whole) {
  const auto limited = [](std::size_t all, std::size_t limit) { return limit == 0 ? all : std::min(all, limit); };
  whole.test_samples = limited(whole.test_samples, config.test_samples);
  if (config.validation_samples == 0) whole.train_samples = limited(whole.train_samples, config.train_samples);
  return whole;
}

DataSummary describe_dataset(const DataConfig& config, const DataPlaces& places) {
  try {
    return source_of(config.set).describe(config, places);
  } catch (const DataMissing& missing) {
    if (config.fallback == DataFallback::none) throw DataError(missing.what() + advice(config.set));
    if (const auto form = drawn_form(config)) return *form;
    throw DataError(fmt::format("{}; the fallback needs `{}`, `classes` and `samples` in `data`, because they are not known", missing.what(),
                                is_sequence(config.set) ? "length" : "shape"));
  }
}

Dataset load_dataset(const DataConfig& config, const DataPlaces& places, const DataLog& log) {
  const DataLog report = log ? log : [](const std::string&) {};
  Dataset set = load_or_fall_back(config, places, report);
  set.fingerprint = fingerprint_of(set);
  if (set.training_set == 0) set.training_set = set.train.samples;
  // Before the limits: a run on fewer training samples is evaluated on the same samples as a full run.
  hold_out(set, config.validation_samples);
  if (set.remark.empty() && are_equal(set.train, set.test))
    set.remark = fmt::format("The test samples of {} are its training samples: accuracies say nothing about new ones", set.name);
  if (set.test.samples == 0)
    throw DataError(fmt::format("{}: it has no test samples ({}): hold back training samples with `data.validation_samples`",
                                set.origin, set.name));
  limit(set.train, config.train_samples, "train_samples", set.name);
  limit(set.test, config.test_samples, "test_samples", set.name);
  return set;
}

std::string fingerprint_of(const Dataset& dataset) {
  const SampleSpec& spec = dataset.spec;
  Sha256 hash;
  const auto add = [&](const auto& values) { hash.add(values.data(), values.size() * sizeof *values.data()); };
  for (const Split* split : {&dataset.train, &dataset.test}) {
    std::string header = fmt::format("{} of {};", split->samples, fmt::join(spec.shape, "x"));
    if (spec.element != ElementType::uint8) header += fmt::format("element {};", static_cast<int>(spec.element));
    add(header);
    add(split->values);
    // One byte each where they fit, as in earlier versions: their runs can still be resumed.
    if (spec.classes <= 256) add(std::vector<std::uint8_t>(split->targets.begin(), split->targets.end()));
    else add(split->targets);
  }
  return hash.digest();
}

}  // namespace mgcompare
