#include "cuda/fusion.h"

#include "cuda/tiled_pooling.h"

namespace mgcompare::cuda {

Fusions::Fusions(const NetworkSpec& spec, const Numerics& numerics)
    : spec_(spec), fuses_(numerics.kernels == KernelChoice::fused), pools_(!numerics.average_pooling), drops_(numerics.dropout),
      readers_(spec) {}

// The other layer that the sum adds which follows layer `index` and alone reads it.
std::optional<int> Fusions::added_to(std::size_t index) const {
  if (index + 1 >= spec_.layers.size() || readers_.count(index) != 1) return {};
  const LayerSpec& sum = spec_.layers[index + 1];
  if (sum.config.type != LayerType::add || sum.inputs.size() != 2) return {};
  const auto own = static_cast<int>(index);
  if (sum.inputs[0] == own) return sum.inputs[1];
  return sum.inputs[1] == own ? std::optional(sum.inputs[0]) : std::nullopt;
}

Fusion Fusions::of(std::size_t index) const {
  const LayerType type = spec_.layers[index].config.type;
  Fusion fusion{.activation = activation_of(type)};
  const bool multiplies = type == LayerType::conv || type == LayerType::dense;
  const auto next = [&]() -> const LayerSpec* {
    const std::size_t last = index + fusion.layers - 1;
    return readers_.is_only_reader(last + 1, last) ? &spec_.layers[last + 1] : nullptr;
  };
  if (fuses_ && type == LayerType::batch_norm) {
    fusion.added = added_to(index);
    if (fusion.added) ++fusion.layers;
  }
  if (fuses_ && (multiplies || type == LayerType::batch_norm || type == LayerType::add)) {
    if (const LayerSpec* const layer = next()) fusion.activation = activation_of(layer->config.type);
    if (fusion.activation != Activation::none) ++fusion.layers;
  }
  if (gates_of(type) > 0) {
    const auto continues = [&](const LayerSpec* layer) {
      return layer != nullptr && layer->config.type == type && layer->config.channels == spec_.layers[index].config.channels;
    };
    while (continues(next())) ++fusion.layers;
  }
  if (!multiplies || !fuses_) return fusion;
  const LayerSpec* const layer = next();
  if (layer == nullptr) return fusion;
  if (type == LayerType::conv && pools_ && layer->config.type == LayerType::max_pool && tiles(*layer)) {
    fusion.pool = layer;
    ++fusion.layers;
    const LayerSpec* const behind = next();
    if (drops_ && fusion.activation == Activation::relu && behind != nullptr && behind->config.type == LayerType::dropout) {
      fusion.dropout = behind;
      ++fusion.layers;
    }
  }
  // The channels of a sequence are its positions, not the units of a dense layer.
  const bool same_channels = type == LayerType::conv || spec_.layers[index].output_shape.size() == 1;
  if (layer->config.type != LayerType::batch_norm || !same_channels) return fusion;
  fusion.feeds_normalization = fusion.activation == Activation::none || of(index + fusion.layers).activation == Activation::none;
  return fusion;
}

Unfinished Fusions::left_to(std::size_t index) const {
  const auto before = [&](std::size_t layer) { return static_cast<std::size_t>(spec_.layers[layer].inputs.front()); };
  if (spec_.layers[index].inputs.front() < 0) return {};
  std::size_t producer = before(index);
  // An activation between them is fused into the layer before it.
  if (activation_of(spec_.layers[producer].config.type) != Activation::none && spec_.layers[producer].inputs.front() >= 0)
    producer = before(producer);
  const Fusion fusion = of(producer);
  if (!fusion.feeds_normalization || producer + fusion.layers != index) return {};
  return {spec_.layers[producer].bias, fusion.activation};
}

}  // namespace mgcompare::cuda
