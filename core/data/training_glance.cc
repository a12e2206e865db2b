#include "data/training_glance.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/number_text.h"
#include "data/dataset.h"
#include "data/npy_set.h"

namespace mgcompare {
namespace {

constexpr std::size_t kMostSamples = 256, kMostValues = 1u << 20;

double value_at(const NpyArray& array, std::size_t i) {
  if (array.element != ElementType::float32) return static_cast<double>(array.integer(i));
  float value = 0;
  std::memcpy(&value, array.values.data() + i * sizeof value, sizeof value);
  return value;
}

// From samples at equal distances.
std::vector<StoredValues> channels_of(const NpyArray& x, std::size_t channels) {
  const std::size_t samples = x.shape[0], size = x.count() / samples, of_channel = size / channels;
  const std::size_t read = std::min({samples, kMostSamples, std::max<std::size_t>(1, kMostValues / size)});
  std::vector<StoredValues> all(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    StoredValues& stored = all[c];
    stored.smallest = stored.largest = value_at(x, c * of_channel);
    for (std::size_t s = 0; s < read; ++s) {
      const std::size_t begin = s * samples / read * size + c * of_channel;
      for (std::size_t i = begin; i < begin + of_channel; ++i) {
        const double value = value_at(x, i);
        stored.smallest = std::min(stored.smallest, value);
        stored.largest = std::max(stored.largest, value);
        stored.mean += value;
        stored.mean_square += value * value;
      }
    }
    const auto count = static_cast<double>(read * of_channel);
    stored.mean /= count;
    stored.mean_square /= count;
  }
  return all;
}

std::string unseen_classes_of(const NpySplit& train, std::size_t classes) {
  if (train.y.count() > train.samples()) return "";  // of sequences, whose symbols have gaps
  std::vector<bool> is_seen(classes);
  for (std::size_t i = 0; i < train.y.count(); ++i)
    if (const std::int64_t target = train.y.integer(i); target >= 0 && static_cast<std::size_t>(target) < classes) is_seen[static_cast<std::size_t>(target)] = true;
  const auto unseen = static_cast<std::size_t>(std::count(is_seen.begin(), is_seen.end(), false));
  if (unseen == 0) return "";
  const auto first = std::find(is_seen.begin(), is_seen.end(), false) - is_seen.begin();
  return fmt::format("{}: {} of the {} classes {} no training sample ({}{}): number the labels from 0 without gaps, unless this is meant", train.y_path,
                     thousands(unseen), thousands(classes), unseen == 1 ? "has" : "have",
                     unseen == 1 ? "class " : "the first is class ", first);
}

// Bytes from 0 to 255 that are all as frequent.
StoredValues uniform_bytes() { return {0, 255, 127.5, (255.0 * 256 * 511 / 6) / 256}; }

}  // namespace

TrainingGlance glance_at(const DataConfig& config, const SampleSpec& spec) {
  TrainingGlance glance;
  const std::size_t channels = spec.shape.empty() ? 0 : spec.shape.front();
  if (config.set != DataSource::npy) {
    if (spec.element == ElementType::uint8 && spec.tokens == 0) glance.channels.assign(channels, uniform_bytes());
    return glance;
  }
  try {
    const NpySplit train = training_arrays(config.path);
    if (channels > 0 && train.x.count() / train.x.shape[0] % channels == 0) glance.channels = channels_of(train.x, channels);
    // With `data.classes` more classes than occur are meant.
    if (config.classes == 0) glance.unseen_classes = unseen_classes_of(train, spec.classes);
  } catch (const DataMissing&) {
    // Its fallback is drawn in a usual range.
  }
  return glance;
}

}  // namespace mgcompare
