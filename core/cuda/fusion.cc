#include "cuda/fusion.h"

#include "cuda/tiled_pooling.h"

namespace mgcompare::cuda {

Fusions::Fusions(const NetworkSpec& spec, const Numerics& numerics)
    : spec_(spec), fuses_(numerics.kernels == KernelChoice::fused), pools_(!numerics.average_pooling), readers_(spec.layers.size() + 1, 0) {
  for (const LayerSpec& layer : spec.layers) {
    for (const int input : layer.inputs) ++readers_[static_cast<std::size_t>(input + 1)];
  }
}

// Whether layer `index` exists and is the only reader of the output of layer `producer`.
bool Fusions::is_only_reader(std::size_t index, std::size_t producer) const {
  return index < spec_.layers.size() && readers_[producer + 1] == 1 && spec_.layers[index].inputs.size() == 1 &&
         spec_.layers[index].inputs.front() == static_cast<int>(producer);
}

Fusion Fusions::of(std::size_t index) const {
  const LayerType type = spec_.layers[index].config.type;
  Fusion fusion{.activation = activation_of(type)};
  const bool multiplies = type == LayerType::conv || type == LayerType::dense;
  const auto next = [&]() -> const LayerSpec* {
    const std::size_t last = index + fusion.layers - 1;
    return is_only_reader(last + 1, last) ? &spec_.layers[last + 1] : nullptr;
  };
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
  }
  // The channels of a sequence are its positions, not the units of a dense layer.
  const bool same_channels = type == LayerType::conv || spec_.layers[index].output_shape.size() == 1;
  fusion.feeds_normalization = layer->config.type == LayerType::batch_norm && same_channels;
  return fusion;
}

Range Fusions::folded_bias(std::size_t index) const {
  const int before = spec_.layers[index].inputs.front();
  if (before < 0 || before + 1 != static_cast<int>(index)) return {};
  const auto producer = static_cast<std::size_t>(before);
  return of(producer).folds_bias() ? spec_.layers[producer].bias : Range{};
}

}  // namespace mgcompare::cuda
