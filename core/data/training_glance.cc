#include "data/training_glance.h"

#include <algorithm>
#include <cstring>

#include "data/dataset.h"
#include "data/npy_set.h"
#include "data/source.h"

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

// Bytes from 0 to 255 that are all as frequent.
StoredValues uniform_bytes() { return {0, 255, 127.5, (255.0 * 256 * 511 / 6) / 256}; }

}  // namespace

TrainingGlance glance_at(const DataConfig& config, const DataSummary& data) {
  TrainingGlance glance;
  const SampleSpec& spec = data.spec;
  const std::size_t channels = spec.shape.empty() ? 0 : spec.shape.front();
  try {
    if (const auto training_labels = source_of(config.set).training_labels) glance.labels = training_labels(config, data);
    if (config.set == DataSource::npy) {
      const NpySplit train = training_arrays(config.path);
      if (channels > 0 && train.x.count() / train.x.shape[0] % channels == 0) glance.channels = channels_of(train.x, channels);
    }
  } catch (const DataMissing&) {
    // Its fallback is drawn in a usual range.
  }
  if (config.set != DataSource::npy && spec.element == ElementType::uint8 && spec.tokens == 0) glance.channels.assign(channels, uniform_bytes());
  return glance;
}

}  // namespace mgcompare
