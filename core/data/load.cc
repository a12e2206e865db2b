#include "data/load.h"

#include <fmt/format.h>

#include <cstdlib>

#include "data/digits.h"
#include "data/idx.h"
#include "base/sha256.h"

namespace mgcompare {
namespace {

constexpr std::uint64_t kDigitsSeed = 1;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void keep_first(Split& split, std::size_t samples) {
  const std::size_t size = split.bytes.size() / split.samples;
  split.samples = samples;
  split.bytes.resize(samples * size);
  split.labels.resize(samples);
}

void limit(Split& split, std::size_t samples, const char* key, const std::string& set) {
  if (samples == 0) return;
  if (samples > split.samples) {
    throw DataError(
        fmt::format("data.{} is {}, but {} has only {} samples available: use a smaller value", key, samples, set, split.samples));
  }
  keep_first(split, samples);
}

// Replaces the test set by the last samples of the training set.
void hold_out(Dataset& set, std::size_t samples) {
  if (samples == 0) return;
  if (samples >= set.train.samples) {
    throw DataError(
        fmt::format("data.validation_samples holds back {} of the {} training samples of {}: use a smaller value",
                    samples, set.train.samples, set.name));
  }
  const std::size_t kept = set.train.samples - samples;
  const std::size_t size = set.train.bytes.size() / set.train.samples;
  set.test.sample_shape = set.train.sample_shape;
  set.test.samples = samples;
  set.test.bytes.assign(set.train.bytes.begin() + static_cast<std::ptrdiff_t>(kept * size), set.train.bytes.end());
  set.test.labels.assign(set.train.labels.begin() + static_cast<std::ptrdiff_t>(kept), set.train.labels.end());
  keep_first(set.train, kept);
}

Dataset downloaded(const DataPlaces& places, const DataLog& log) {
  if (places.cache_folder.empty()) {
    throw DataError("no folder for downloads (neither XDG_CACHE_HOME nor HOME is an absolute path)");
  }
  if (places.download.mirrors.empty()) throw DataError("no mirror to download from");
  log(fmt::format("MNIST was not found; downloading it to {} ...", places.cache_folder));
  download_mnist(places.cache_folder, places.download);
  Dataset set = read_mnist(places.cache_folder);
  set.origin = fmt::format("downloaded to {}", places.cache_folder);
  return set;
}

Dataset digits(const std::string& reason, const DataLog& log) {
  Dataset set = draw_digits(kDigitsSeed);
  log(fmt::format("{}: {} built-in digits, {}", reason, set.train.samples + set.test.samples, set.origin));
  return set;
}

Dataset find_mnist(const DataConfig& config, const DataPlaces& places, const DataLog& log) {
  for (const auto& [folder, how] :
       {std::pair(places.given_folder, "--data"), std::pair(places.environment_folder, "--data or MGCOMPARE_DATA")}) {
    if (folder.empty()) continue;
    try {
      return read_mnist(folder);
    } catch (const DataError& wrong) {
      throw DataError(fmt::format("{} (the folder was given by {}; correct it or remove it)", wrong.what(), how));
    }
  }
  if (!places.cache_folder.empty() && has_mnist(places.cache_folder)) {
    try {
      return read_mnist(places.cache_folder);
    } catch (const DataError& wrong) {
      log(fmt::format("{}; downloading it again", wrong.what()));
    }
  }
  try {
    return downloaded(places, log);
  } catch (const DataError& missing) {
    if (config.fallback != DataFallback::digits) {
      throw DataError(
          fmt::format("{}; name a folder with MNIST's four files by --data or MGCOMPARE_DATA, or allow "
                      "built-in digits with `--set data.fallback=digits`",
                      missing.what()));
    }
    log(missing.what());
    return digits("MNIST is not available (data.fallback: digits)", log);
  }
}

}  // namespace

DataPlaces DataPlaces::standard(const std::string& given_folder) {
  DataPlaces places;
  places.given_folder = given_folder;
  places.environment_folder = environment("MGCOMPARE_DATA");
  const std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (cache.starts_with('/')) {
    places.cache_folder = cache + "/mgcompare/datasets/mnist";
  } else if (home.starts_with('/')) {
    places.cache_folder = home + "/.cache/mgcompare/datasets/mnist";
  }
  places.download.mirrors = mnist_mirrors();
  return places;
}

Dataset load_dataset(const DataConfig& config, const DataPlaces& places, const DataLog& log) {
  const DataLog report = log ? log : [](const std::string&) {};
  Dataset set = config.set == DataSource::digits ? digits("data.set: digits", report) : find_mnist(config, places, report);
  set.fingerprint = fingerprint_of(set);
  // Before the limits: a run on fewer training samples is evaluated on the same samples as a full run.
  hold_out(set, config.validation_samples);
  limit(set.train, config.train_samples, "train_samples", set.name);
  limit(set.test, config.test_samples, "test_samples", set.name);
  return set;
}

std::string fingerprint_of(const Dataset& dataset) {
  Sha256 hash;
  for (const Split* split : {&dataset.train, &dataset.test}) {
    const std::string header = fmt::format("{} of {};", split->samples, fmt::join(split->sample_shape, "x"));
    hash.add(header.data(), header.size());
    hash.add(split->bytes.data(), split->bytes.size());
    hash.add(split->labels.data(), split->labels.size());
  }
  return hash.digest();
}

}  // namespace mgcompare
