#include "data/synthetic.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shape.h"
#include "data/drawn_split.h"
#include "mgcompare/random.h"

namespace mgcompare {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kCells = 8;           // of a pattern along each of the last two axes
constexpr std::uint64_t kPatternStream = 0x70ull << 56, kSampleStream = 0x73ull << 56, kTestStream = 0x74ull << 56;

class Drawer {
 public:
  Drawer(const SampleSpec& spec, std::uint64_t seed)
      : seed_(seed), classes_(spec.classes), size_(values_in(spec.shape)) {
    width_ = spec.shape.back();
    height_ = spec.shape.size() > 1 ? spec.shape[spec.shape.size() - 2] : 1;
    cell_width_ = (width_ + kCells - 1) / kCells;
    cell_height_ = (height_ + kCells - 1) / kCells;
    cells_ = size_ / (width_ * height_) * kCells * kCells;
    for (std::size_t i = 0; i < size_; ++i) {
      const std::size_t plane = i / (width_ * height_), row = i / width_ % height_, column = i % width_;
      cell_of_.push_back(static_cast<std::uint32_t>((plane * kCells + row / cell_height_) * kCells + column / cell_width_));
    }
    patterns_.resize(classes_ * cells_);
    for (std::size_t label = 0; label < classes_; ++label) {
      const Random random(seed, kPatternStream + label);
      for (std::size_t cell = 0; cell < cells_; ++cell) patterns_[label * cells_ + cell] = 2 * random.uniform(cell) - 1;
    }
  }

  Split split(std::uint64_t stream, std::size_t samples) const {
    return drawn_split(samples, classes_, size_, [&](std::size_t number, std::uint32_t label, std::uint8_t* bytes) { sample(stream, number, label, bytes); });
  }

 private:
  void sample(std::uint64_t stream, std::size_t number, std::uint32_t label, std::uint8_t* bytes) const {
    const Random own(seed_, stream + number);
    const float contrast = 40 + 40 * own.uniform(0);
    const float* const pattern = patterns_.data() + label * cells_;  // in [-1, 1), constant within a cell
    for (std::size_t i = 0; i < size_; i += 4) {
      const Random::Block grain = own.block(1 + i / 4);
      for (std::size_t k = 0; k < std::min<std::size_t>(4, size_ - i); ++k) {
        const float noise = static_cast<float>(grain.words[k] >> 8) * 0x1p-24f - 0.5f;
        bytes[i + k] = static_cast<std::uint8_t>(std::clamp(128 + contrast * pattern[cell_of_[i + k]] + 160 * noise, 0.0f, 255.0f));
      }
    }
  }

  std::uint64_t seed_;
  std::size_t classes_, size_, width_, height_, cell_width_, cell_height_, cells_;
  std::vector<float> patterns_;         // of each class, by cell
  std::vector<std::uint32_t> cell_of_;  // of each value of a sample
};

SampleSpec spec_of(const DataConfig& config) {
  SampleSpec spec;
  spec.shape = config.shape;
  spec.classes = config.classes;
  return spec;
}

DataSummary describe(const DataConfig& config, const DataPlaces&) {
  return {spec_of(config), config.samples, std::max<std::size_t>(config.samples / kTestShare, 1)};
}

Dataset load(const DataConfig& config, const DataPlaces& places, const DataLog&) {
  const DataSummary whole = describe(config, places), part = drawn_part(config, whole);
  Dataset set = draw_samples(part.spec, part.train_samples, part.test_samples, kSeed);
  set.training_set = whole.train_samples;
  return set;
}

}  // namespace

Dataset draw_samples(const SampleSpec& spec, std::size_t train_samples, std::size_t test_samples, std::uint64_t seed) {
  double bytes = static_cast<double>(train_samples + test_samples);
  for (const std::size_t extent : spec.shape) bytes *= static_cast<double>(extent);
  check_fits_memory("data.set: synthetic", bytes);
  const Drawer drawer(spec, seed);
  Dataset set;
  set.name = "synthetic";
  set.origin = fmt::format("drawn with seed {}", seed);
  set.remark = "The samples are synthetic: accuracies say nothing about real data";
  set.spec = spec;
  set.spec.element = ElementType::uint8;
  set.spec.tokens = 0;
  set.train = drawer.split(kSampleStream, train_samples);
  set.test = drawer.split(kTestStream, test_samples);
  return set;
}

const DataSourceEntry kSynthetic = {describe, load};

}  // namespace mgcompare
