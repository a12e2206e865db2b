#pragma once

// A network on a CPU device with data; computes logits and gradients.

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "cpu/device.h"
#include "cpu/feed.h"
#include "cpu/network.h"
#include "model/spec.h"
#include "reference.h"

namespace mgcompare::testing {

// Bytes (or tokens) and labels derived from a counter, the same for every test.
inline Split random_split(const SampleSpec& spec, std::size_t samples, std::uint64_t seed = 7) {
  std::size_t features = 1;
  for (std::size_t size : spec.shape) features *= size;
  const Random pixels(seed, 1), labels(seed, 2);
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < samples * features; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(spec.tokens == 0 ? pixels.word(i) : pixels.below(i, std::min<std::size_t>(spec.tokens, 256))));
  }
  Split split;
  split.samples = samples;
  split.values = SharedBytes(std::move(bytes));
  for (std::size_t i = 0; i < samples * spec.targets; ++i) split.targets.push_back(static_cast<std::uint32_t>(labels.below(i, spec.classes)));
  return split;
}

// Bytes of this shape, with one target for each sample.
inline SampleSpec bytes_of(const Shape& shape, std::size_t classes) {
  SampleSpec spec;
  spec.shape = shape;
  spec.classes = classes;
  return spec;
}

inline Split random_split(const Shape& shape, std::size_t samples, std::size_t classes, std::uint64_t seed = 7) {
  return random_split(bytes_of(shape, classes), samples, seed);
}

// Bytes are divided by 255.
inline std::unique_ptr<Feed> byte_feed(Device& device, const NetworkSpec& network, const Split& split) {
  const SampleSpec spec = bytes_of(network.sample_shape, network.classes);
  return make_feed(device, spec, split, preparation_of({}, spec));
}

// |a - b| / |b|
template <class A, class B> double relative_error(const A& a, const B& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(difference) / std::max(std::sqrt(norm), 1e-30);
}

// Limits of the bytes of a part of the batch: the layers take parts of the least size that they allow, or the whole batch.
constexpr std::size_t kLeastParts = 1, kOnePart = std::numeric_limits<std::size_t>::max();

class Rig {
 public:
  Rig(const ModelConfig& model, const Shape& shape, std::size_t classes, std::size_t samples,
      const Numerics& numerics = {}, std::uint64_t seed = 3)
      : Rig(model, bytes_of(shape, classes), samples, numerics, seed) {}

  Rig(const ModelConfig& model, const SampleSpec& form, std::size_t samples, const Numerics& numerics = {}, std::uint64_t seed = 3)
      : device(0, meter), form(form), spec(make_spec(model, form, false)), split(random_split(form, samples)),
        feed(make_feed(device, form, split, preparation_of({}, form))), network(make_network(device, spec, numerics)) {
    weights = initial_weights(spec, seed);
    // Nonzero biases, so that they are tested too.
    const Random random(seed, 99);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += static_cast<float>(0.05 * random.normal(i));
    load(weights);
    for (std::size_t i = 0; i < samples; ++i) order.push_back(static_cast<std::uint32_t>((i * 7 + 3) % samples));
    if (samples % 7 == 0) {
      for (std::size_t i = 0; i < samples; ++i) order[i] = static_cast<std::uint32_t>(samples - 1 - i);
    }
    feed->set_order({order.data(), order.size()});
  }

  void take_parts_of(std::size_t bytes, const Numerics& numerics = {}) {
    network = make_network(device, spec, numerics, bytes);
    load(weights);
  }

  // Everything that a network computes: two passes of training, then one of evaluation.
  std::vector<std::vector<float>> computed(std::size_t first, std::size_t count) {
    std::vector<std::vector<float>> found;
    for (const Pass& pass : {Pass{true, 5, 1}, Pass{true, 5, 2}, Pass{false, 5, 3}}) {
      found.push_back(logits(first, count, pass));
      found.push_back(gradient(first, count, pass));
      found.emplace_back(network->buffers().begin(), network->buffers().end());
    }
    return found;
  }

  void load(const std::vector<float>& values) {
    device.copy_to_device(network->weights().data(), values.data(), values.size() * sizeof(float));
  }

  std::vector<float> logits(std::size_t first, std::size_t count, const Pass& pass = {}) {
    const Vec out = network->forward(*feed, first, count, pass);
    return {out.begin(), out.end()};
  }

  // The gradient of the sum of losses times `scale`.
  std::vector<float> gradient(std::size_t first, std::size_t count, const Pass& pass = {}, float scale = 1,
                              const Ready& ready = {}) {
    const Vec out = network->forward(*feed, first, count, pass);
    std::vector<float> slopes(out.size());
    network->loss(*feed, first, count, out, {slopes.data(), slopes.size()}, scale);
    network->backward({slopes.data(), slopes.size()}, ready);
    return {network->gradients().begin(), network->gradients().end()};
  }

  // Distance of the gradient of the sum of these samples' losses from central differences of the reference loops, at
  // every `stride`-th element of the range.
  double gradient_error(const std::vector<float>& gradient, std::size_t first, std::size_t count, Range range,
                        std::size_t stride, const ReferencePass& pass = {}) const {
    Numbers values(weights.begin(), weights.end()), expected, found;
    const auto loss = [&] {
      return reference_loss(reference_forward(spec, values, Numbers(spec.buffers, 0), inputs(first, count), ids(first, count), pass),
                            labels(first, count)) / static_cast<double>(form.targets);
    };
    for (std::size_t i = range.begin; i < range.end; i += stride) {
      const double kept = values[i];
      values[i] = kept + 1e-5;
      const double above = loss();
      values[i] = kept - 1e-5;
      expected.push_back((above - loss()) / 2e-5);
      values[i] = kept;
      found.push_back(gradient[i]);
    }
    return relative_error(found, expected);
  }

  std::vector<std::uint32_t> ids(std::size_t first, std::size_t count) const {
    return {order.begin() + static_cast<std::ptrdiff_t>(first), order.begin() + static_cast<std::ptrdiff_t>(first + count)};
  }

  Numbers inputs(std::size_t first, std::size_t count) const {
    const std::size_t features = split.values.size() / split.samples;
    Numbers numbers;
    for (std::uint32_t id : ids(first, count)) {
      for (std::size_t i = 0; i < features; ++i) {
        numbers.push_back(static_cast<float>(split.values.data()[id * features + i]) * preparation_of({}, form).scale);
      }
    }
    return numbers;
  }

  std::vector<std::uint32_t> labels(std::size_t first, std::size_t count) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t id : ids(first, count)) {
      for (std::size_t k = 0; k < form.targets; ++k) found.push_back(split.targets[id * form.targets + k]);
    }
    return found;
  }

  MemoryMeter meter;
  CpuDevice device;
  SampleSpec form;                  // of the data
  NetworkSpec spec;
  Split split;
  std::vector<std::uint32_t> order;
  std::unique_ptr<Feed> feed;
  std::unique_ptr<Network> network;
  std::vector<float> weights;
};

}  // namespace mgcompare::testing
