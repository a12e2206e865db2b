#include <algorithm>

#include "config/keys.h"

namespace mgcompare {
namespace {

using Count = std::size_t& (*)(LayerConfig&);
using Pair = std::size_t* (*)(LayerConfig&);
using Number = double& (*)(LayerConfig&);
using Flag = bool& (*)(LayerConfig&);
using Initializer = InitializerConfig& (*)(LayerConfig&);

}  // namespace

const std::vector<LayerKey>& layer_keys() {
  static const std::vector<LayerKey> table = {
      {"channels", "Outputs of a convolution.", Count([](LayerConfig& c) -> std::size_t& { return c.channels; }), 1,
       65536},
      {"units", "Outputs of a dense layer; size of the state of a gru or lstm.", Count([](LayerConfig& c) -> std::size_t& { return c.channels; }), 1,
       1 << 20},
      {"kernel", "Height and width of the window: one number, or [height, width].",
       Pair([](LayerConfig& c) { return &c.kernel[0]; }), 1, 1024},
      {"stride", "Stride of the window; default 1, for pooling the window.",
       Pair([](LayerConfig& c) { return &c.stride[0]; }), 1, 1024},
      {"padding", "Zero padding on each side.", Pair([](LayerConfig& c) { return &c.padding[0]; }), 0,
       1024},
      {"bias", "Whether the outputs have a bias.", Flag([](LayerConfig& c) -> bool& { return c.bias; })},
      {"rate", "Share of values that is dropped.", Number([](LayerConfig& c) -> double& { return c.rate; }), 0,
       0.999999},
      {"epsilon", "Added to the variance to avoid division by zero.",
       Number([](LayerConfig& c) -> double& { return c.epsilon; }), 1e-12, 1},
      {"momentum", "Share of the running statistics that is kept at each batch.",
       Number([](LayerConfig& c) -> double& { return c.momentum; }), 0, 1},
      {"weights", "Initial weights: a name, or {normal: 0.01} or {uniform: 0.01}; default xavier, for gru and lstm glorot_uniform.",
       Initializer([](LayerConfig& c) -> InitializerConfig& { return c.weights; })},
      {"return_sequences", "Whether the output is the state after each position, time x units, or after the last one, units.",
       Flag([](LayerConfig& c) -> bool& { return c.return_sequences; })},
  };
  return table;
}

const LayerKey* find_layer_key(std::string_view name) {
  const auto& table = layer_keys();
  const auto found = std::find_if(table.begin(), table.end(), [&](const LayerKey& key) { return key.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const std::vector<LayerDescription>& layer_descriptions() {
  static const std::vector<LayerDescription> table = {
      {LayerType::conv,
       "Convolution.",
       {"channels", "kernel", "stride", "padding", "bias", "weights"},
       "",
       {"channels", "kernel"}},
      {LayerType::max_pool, "Largest value of each window.", {"kernel", "stride", "padding"}, "kernel", {"kernel"}},
      {LayerType::average_pool, "Mean of each window.", {"kernel", "stride", "padding"}, "kernel", {"kernel"}},
      {LayerType::dense, "Fully connected; flattens its input.", {"units", "bias", "weights"}, "units", {"units"}},
      {LayerType::tanh, "Hyperbolic tangent.", {}, "", {}},
      {LayerType::relu, "max(x, 0).", {}, "", {}},
      {LayerType::sigmoid, "1 / (1 + exp(-x)).", {}, "", {}},
      {LayerType::dropout, "Drops values during training and scales the others up.", {"rate"}, "rate", {"rate"}},
      {LayerType::batch_norm, "Normalises each channel over the batch.", {"epsilon", "momentum"}, "", {}},
      {LayerType::flatten, "Turns all axes into one.", {}, "", {}},
      {LayerType::add, "Sum of its inputs.", {}, "", {}},
      {LayerType::concat, "Concatenates its inputs along the channels.", {}, "", {}},
      {LayerType::gru,
       "Gated recurrent unit over time x features, with the reset gate after the recurrent product; recurrent weights start "
       "orthogonal.",
       {"units", "return_sequences", "weights"},
       "units",
       {"units"}},
      {LayerType::lstm,
       "Long short-term memory over time x features; recurrent weights start orthogonal, the bias of the forget gate at 1.",
       {"units", "return_sequences", "weights"},
       "units",
       {"units"}},
  };
  return table;
}

const LayerDescription* find_layer(std::string_view name) {
  const std::optional<LayerType> type = find_kind<LayerType>(name);
  return type ? &layer_descriptions()[static_cast<std::size_t>(*type)] : nullptr;
}

LayerConfig default_layer(LayerType type) {
  LayerConfig layer;
  layer.type = type;
  if (type == LayerType::gru || type == LayerType::lstm) layer.weights.kind = InitializerKind::glorot_uniform;
  return layer;
}

std::vector<std::string> initializers() {
  return {kKindNames<InitializerKind>.begin(), kKindNames<InitializerKind>.end()};
}

}  // namespace mgcompare
