#include "check/marked_samples.h"

#include <algorithm>
#include <cstring>

#include "model/spec.h"

namespace mgcompare {
namespace {

constexpr std::size_t kMostJudgedEpochs = 3;
// As many units as the most ranks: also a strategy whose ranks each send another part of the weights sends some of each mark.
constexpr std::size_t kUnits = 16, kClasses = 3;
// Larger than the other inputs of layers, so that a strategy which sends only the largest gradients sends these.
constexpr float kMark = 4;

ModelConfig marked_model() {
  LayerConfig first{.type = LayerType::dense, .name = "first"}, unit{.type = LayerType::tanh, .name = "unit"}, last{.type = LayerType::dense, .name = "last"};
  first.channels = kUnits;
  first.bias = false;               // it could saturate the units for all samples
  last.channels = kClasses;
  return {"marks", {first, unit, last}};
}

Split split_of(std::size_t samples, std::size_t features, std::size_t marks) {
  std::vector<std::uint8_t> bytes(samples * features * sizeof(float));
  Split split{samples, {}, {}};
  for (std::size_t i = 0; i < samples; ++i) {
    std::memcpy(bytes.data() + (i * features + i % marks) * sizeof(float), &kMark, sizeof(float));
    split.targets.push_back(static_cast<std::uint32_t>(i % kClasses));
  }
  split.values = SharedBytes(std::move(bytes));
  return split;
}

}  // namespace

MarkedSamples::MarkedSamples(std::size_t ranks, std::size_t samples, std::uint64_t seed)
    : ranks_(ranks), parts_(2 * std::clamp<std::size_t>((samples / ranks - 1) / 2, 1, kMostJudgedEpochs) + 1), model_(marked_model()) {
  data_.name = "marks";
  data_.spec = {.shape = {marks()}, .element = ElementType::float32, .classes = kClasses};
  data_.training_set = samples;
  data_.train = split_of(samples, marks(), ranks_ * parts_);
  data_.test = part_of(data_.train, 0, 1);
  const NetworkSpec spec = make_spec(model_, data_.spec, false);
  weights_ = mgcompare::initial_weights(spec, seed);
  const Range first = spec.layers.front().weights;
  std::fill_n(weights_.begin() + static_cast<std::ptrdiff_t>(first.begin), first.size(), 0.0f);
}

std::size_t MarkedSamples::part(std::size_t epoch, std::size_t step) const { return std::min(2 * epoch + step % 2, judged_parts()); }

std::vector<std::uint32_t> MarkedSamples::order(std::size_t rank, std::size_t part) const {
  return std::vector<std::uint32_t>(data_.train.samples, static_cast<std::uint32_t>(mark(rank, part)));
}

double MarkedSamples::learned(const std::vector<float>& weights, std::size_t rank, std::size_t part) const {
  double sum = 0;
  // The first layer's weights are the first of all, one row for each unit.
  for (std::size_t unit = 0; unit < kUnits; ++unit) {
    const double weight = weights.at(unit * marks() + mark(rank, part));
    sum += weight * weight;
  }
  return sum;
}

double MarkedSamples::learned(const std::vector<float>& weights, std::size_t rank) const {
  double sum = 0;
  for (std::size_t part = 0; part < parts_; ++part) sum += learned(weights, rank, part);
  return sum;
}

}  // namespace mgcompare
