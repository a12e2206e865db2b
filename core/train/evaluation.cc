#include "train/evaluation.h"

#include <algorithm>

#include "base/shape.h"

namespace mgcompare {
namespace {

constexpr std::size_t kMostSamples = 500;
constexpr std::size_t kActivationBytes = 64 << 20;  // of a pass that is larger than a step

}  // namespace

std::size_t evaluation_batch(const NetworkSpec& spec, std::size_t step) {
  std::size_t values = values_in(spec.sample_shape);
  for (const LayerSpec& layer : spec.layers) values += values_in(layer.output_shape);
  const std::size_t cheap = kActivationBytes / (values * sizeof(float));
  return std::clamp<std::size_t>(std::max(step, cheap), 1, kMostSamples);
}

Tally evaluate(Network& network, Feed& feed, Range samples, std::size_t batch, ConstVec weights) {
  const Pass pass{.training = false};
  for (std::size_t begin = samples.begin; begin < samples.end; begin += batch) {
    const std::size_t count = std::min(batch, samples.end - begin);
    const Vec logits = network.forward(feed, begin, count, pass, weights);
    network.loss(feed, begin, count, logits, {}, 1);
  }
  return network.take_tally();
}

}  // namespace mgcompare
