#include <algorithm>

#include "config/keys.h"

namespace mgcompare {
namespace {

using LayerCount = std::size_t& (*)(LayerConfig&);
using Pair = std::size_t* (*)(LayerConfig&);
using LayerNumber = double& (*)(LayerConfig&);
using LayerOptionalNumber = std::optional<double>& (*)(LayerConfig&);
using LayerFlag = bool& (*)(LayerConfig&);
using Initializer = InitializerConfig& (*)(LayerConfig&);

}  // namespace

const std::vector<LayerKey>& layer_keys() {
  static const std::vector<LayerKey> table = {
      {"channels", "Outputs of a convolution.", LayerCount([](LayerConfig& c) -> std::size_t& { return c.channels; }), 1,
       65536},
      {"units", "Outputs of a dense layer, or of an embedding for each token; size of the state of a gru or lstm.",
       LayerCount([](LayerConfig& c) -> std::size_t& { return c.channels; }), 1,
       1 << 20},
      {"kernel", "Height and width of the window: one number, or [height, width].",
       Pair([](LayerConfig& c) { return &c.kernel[0]; }), 1, 1024},
      {"stride", "Stride of the window; default 1, for pooling the window.",
       Pair([](LayerConfig& c) { return &c.stride[0]; }), 1, 1024},
      {"padding", "Zero padding on each side.", Pair([](LayerConfig& c) { return &c.padding[0]; }), 0,
       1024},
      {"bias", "Whether the outputs have a bias.", LayerFlag([](LayerConfig& c) -> bool& { return c.bias; })},
      {"rate", "Share of values that is dropped.", LayerNumber([](LayerConfig& c) -> double& { return c.rate; }), 0,
       0.999999},
      {"epsilon", "Added to the variance to avoid division by zero; default 1e-3 for batch_norm, 1e-5 for layer_norm.",
       LayerNumber([](LayerConfig& c) -> double& { return c.epsilon; }), 1e-12, 1},
      {"momentum", "Share of the running statistics that is kept at each batch; default 0.99. With few steps 0.9 follows faster.",
       LayerNumber([](LayerConfig& c) -> double& { return c.momentum; }), 0, 1},
      {"weights", "Initial weights: a name, or {normal: 0.01} or {uniform: 0.01}. xavier and he_normal are the same: normal with the "
       "variance 2 / inputs, as MXNet's Xavier(gaussian, in, 2); what is called Xavier elsewhere, with the variance 2 / (inputs + outputs), is glorot_uniform: up to "
       "sqrt(6 / (inputs + outputs)). he_fan_out: normal with 2 / outputs; fan_in_uniform: up to sqrt(1 / inputs). Default xavier, for embedding {uniform: 0.05}, for gru and lstm glorot_uniform. Biases start at 0.",
       Initializer([](LayerConfig& c) -> InitializerConfig& { return c.weights; })},
      {"weight_decay", "Weight decay of this layer's weights, in place of the optimiser's.",
       LayerOptionalNumber([](LayerConfig& c) -> std::optional<double>& { return c.weight_decay; }), 0, 1},
      {"per_position", "Whether the layer reads each position of a sequence by itself: time x features becomes time x units.",
       LayerFlag([](LayerConfig& c) -> bool& { return c.per_position; })},
      {"tokens", "How many different tokens there are; 0: as many as in the data.",
       LayerCount([](LayerConfig& c) -> std::size_t& { return c.tokens; }), 0, 1 << 24},
      {"radius", "Channels on each side of a channel that are summed with it.",
       LayerCount([](LayerConfig& c) -> std::size_t& { return c.radius; }), 0, 65536},
      {"alpha", "Factor of the sum of squares; default 1e-4.", LayerNumber([](LayerConfig& c) -> double& { return c.alpha; }), 0, 1e6},
      {"beta", "Exponent; default 0.75.", LayerNumber([](LayerConfig& c) -> double& { return c.beta; }), 0, 10},
      {"offset", "Added to the sum of squares; default 1.", LayerNumber([](LayerConfig& c) -> double& { return c.offset; }), 1e-6, 1e6},
      {"return_sequences", "Whether the output is the state after each position, time x units, or after the last one, units.",
       LayerFlag([](LayerConfig& c) -> bool& { return c.return_sequences; })},
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
       {"channels", "kernel", "stride", "padding", "bias", "weights", "weight_decay"},
       "",
       {"channels", "kernel"}},
      {LayerType::max_pool, "Largest value of each window.", {"kernel", "stride", "padding"}, "kernel", {"kernel"}},
      {LayerType::average_pool, "Mean of each window.", {"kernel", "stride", "padding"}, "kernel", {"kernel"}},
      {LayerType::dense,
       "Fully connected; flattens its input.",
       {"units", "bias", "weights", "weight_decay", "per_position"},
       "units",
       {"units"}},
      {LayerType::tanh, "Hyperbolic tangent.", {}, "", {}},
      {LayerType::relu, "max(x, 0).", {}, "", {}},
      {LayerType::sigmoid, "1 / (1 + exp(-x)).", {}, "", {}},
      {LayerType::dropout, "Drops values during training and scales the others up.", {"rate"}, "rate", {"rate"}},
      {LayerType::batch_norm, "Normalises each channel over the batch.", {"epsilon", "momentum"}, "", {}},
      {LayerType::flatten, "Turns all axes into one.", {}, "", {}},
      {LayerType::add, "Sum of its inputs.", {}, "", {}},
      {LayerType::concat, "Concatenates its inputs along the channels.", {}, "", {}},
      {LayerType::embedding,
       "A trained vector for each token: time becomes time x units.",
       {"units", "tokens", "weights", "weight_decay"},
       "units",
       {"units"}},
      {LayerType::one_hot, "1 at the token, 0 elsewhere: time becomes time x tokens.", {"tokens"}, "tokens", {}},
      {LayerType::global_average_pool, "Mean of each channel of an image, or of each feature over the time.", {}, "", {}},
      {LayerType::layer_norm,
       "Normalises each sample: an image over all its values, with a scale and a shift for each channel; otherwise the features, "
       "at each position of a sequence.",
       {"epsilon"},
       "",
       {}},
      {LayerType::gelu, "x times the normal distribution function at x: x/2 (1 + erf(x / sqrt(2))).", {}, "", {}},
      {LayerType::lrn,
       "Local response normalisation: x / (offset + alpha * sum)^beta, with the sum of x^2 over the channels at most radius away.",
       {"radius", "alpha", "beta", "offset"},
       "radius",
       {"radius"}},
      {LayerType::gru,
       "Gated recurrent unit over time x features, with the reset gate after the recurrent product; recurrent weights start "
       "orthogonal.",
       {"units", "return_sequences", "weights", "weight_decay"},
       "units",
       {"units"}},
      {LayerType::lstm,
       "Long short-term memory over time x features; recurrent weights start orthogonal, the bias of the forget gate at 1.",
       {"units", "return_sequences", "weights", "weight_decay"},
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
  if (type == LayerType::layer_norm) layer.epsilon = 1e-5;
  if (type == LayerType::embedding) layer.weights = {InitializerKind::uniform, 0.05};
  if (type == LayerType::gru || type == LayerType::lstm) layer.weights.kind = InitializerKind::glorot_uniform;
  return layer;
}

std::vector<std::string> initializers() {
  return {kKindNames<InitializerKind>.begin(), kKindNames<InitializerKind>.end()};
}

}  // namespace mgcompare
