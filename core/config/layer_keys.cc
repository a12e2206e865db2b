#include <fmt/format.h>

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
      {"units", "Outputs of a dense layer.", Count([](LayerConfig& c) -> std::size_t& { return c.channels; }), 1,
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
      {"weights", "Initial weights: a name, or {normal: 0.01} or {uniform: 0.01}.",
       Initializer([](LayerConfig& c) -> InitializerConfig& { return c.weights; })},
  };
  return table;
}

const LayerKey* find_layer_key(std::string_view name) {
  const auto& table = layer_keys();
  const auto found = std::find_if(table.begin(), table.end(), [&](const LayerKey& key) { return key.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const std::vector<LayerType>& layer_types() {
  static const std::vector<LayerType> table = {
      {"conv",
       "Convolution.",
       {"channels", "kernel", "stride", "padding", "bias", "weights"},
       "",
       {"channels", "kernel"}},
      {"max_pool", "Largest value of each window.", {"kernel", "stride", "padding"}, "kernel", {"kernel"}},
      {"average_pool", "Mean of each window.", {"kernel", "stride", "padding"}, "kernel", {"kernel"}},
      {"dense", "Fully connected; flattens its input.", {"units", "bias", "weights"}, "units", {"units"}},
      {"tanh", "Hyperbolic tangent.", {}, "", {}},
      {"relu", "max(x, 0).", {}, "", {}},
      {"sigmoid", "1 / (1 + exp(-x)).", {}, "", {}},
      {"dropout", "Drops values during training and scales the others up.", {"rate"}, "rate", {"rate"}},
      {"batch_norm", "Normalises each channel over the batch.", {"epsilon", "momentum"}, "", {}},
      {"flatten", "Turns all axes into one.", {}, "", {}},
      {"add", "Sum of its inputs.", {}, "", {}},
      {"concat", "Concatenates its inputs along the channels.", {}, "", {}},
  };
  return table;
}

const LayerType* find_layer_type(std::string_view name) {
  const auto& table = layer_types();
  const auto found = std::find_if(table.begin(), table.end(), [&](const LayerType& type) { return type.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const std::vector<std::string>& initializers() {
  static const std::vector<std::string> names = {"xavier", "glorot_uniform", "he_normal", "normal", "uniform", "zeros"};
  return names;
}

std::string explain_layers() {
  std::string text;
  for (const LayerType& type : layer_types()) {
    text += fmt::format("    {:<13} {}", type.name, type.help);
    if (!type.keys.empty()) text += fmt::format(" Settings: {}", fmt::join(type.keys, ", "));
    if (!type.required.empty()) text += fmt::format("; needs {}", fmt::join(type.required, " and "));
    if (!type.shorthand.empty()) text += fmt::format("; `{}: X` means {{{}: X}}", type.name, type.shorthand);
    text += type.keys.empty() ? "\n" : ".\n";
  }
  text += "  settings:\n";
  for (const LayerKey& key : layer_keys()) {
    text += fmt::format("    {:<13} {}", key.name, key.help);
    if (key.most > 0) text += fmt::format(" From {:.7g} to {:.7g}.", key.least, key.most);
    if (key.name == "weights") text += fmt::format(" Names: {}.", fmt::join(initializers(), ", "));
    text += "\n";
  }
  return text + "  beside each layer may stand `name: X` and `inputs: [X, Y]`, the layers that it reads in place of the "
                "one before it; `input` is the sample\n";
}

}  // namespace mgcompare
