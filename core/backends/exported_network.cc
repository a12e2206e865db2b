#include <algorithm>

#include "backends/exported_trial.h"
#include "config/keys.h"

namespace mgcompare {
namespace {

using Json = nlohmann::json;

// The settings of a layer under their names in the config. How weights were drawn does not matter any more.
Json settings_of(const LayerConfig& config) {
  LayerConfig layer = config;       // the accessors of the table take no constant ones
  Json settings = Json::object();
  for (const std::string& name : layer_descriptions()[static_cast<std::size_t>(config.type)].keys) {
    if (name == "weights" || name == "weight_decay") continue;
    std::visit(
        [&](const auto& field) {
          using Value = std::remove_cvref_t<std::invoke_result_t<decltype(field), LayerConfig&>>;
          if constexpr (std::is_same_v<Value, std::size_t*>) settings[name] = {field(layer)[0], field(layer)[1]};
          else if constexpr (!std::is_same_v<Value, InitializerConfig> && !std::is_same_v<Value, std::optional<double>>) settings[name] = field(layer);
        },
        find_layer_key(name)->field);
  }
  return settings;
}

Json tensor(const Range& range, const Shape& shape) { return {{"begin", range.begin}, {"shape", shape}}; }

// The tensors of a layer, by what they are.
Json parameters_of(const LayerSpec& layer, const NetworkSpec& network) {
  Json parameters = Json::object();
  for (const Part& part : network.parts) {
    if (part.layer != layer.config.name) continue;
    const std::size_t begin = part.range.begin;
    const char* const name = begin == layer.recurrent.begin && layer.recurrent.size() > 0             ? "recurrent"
                             : begin == layer.recurrent_bias.begin && layer.recurrent_bias.size() > 0 ? "recurrent_bias"
                             : begin == layer.weights.begin                                           ? "weights"
                                                                                                      : "bias";
    parameters[name] = tensor(part.range, part.shape);
  }
  return parameters;
}

Json layer_json(const LayerSpec& layer, const NetworkSpec& network) {
  Json json = settings_of(layer.config);
  json["type"] = to_string(layer.config.type);
  json["name"] = layer.config.name;
  json["inputs"] = layer.inputs;
  json["output_shape"] = layer.output_shape;
  json["parameters"] = parameters_of(layer, network);
  if (layer.buffers.size() > 0) {
    const std::size_t half = layer.buffers.size() / 2, middle = layer.buffers.begin + half;
    json["buffers"] = {{"mean", tensor({layer.buffers.begin, middle}, {half})}, {"variance", tensor({middle, layer.buffers.end}, {half})}};
  }
  return json;
}

}  // namespace

Json network_json(const NetworkSpec& network) {
  Json json = {{"name", network.name},
               {"sample_shape", network.sample_shape},
               {"classes", network.classes},
               {"targets", network.targets},
               {"parameters", network.parameters},
               {"buffers", network.buffers},
               {"layers", Json::array()},
               {"parts", Json::array()}};
  for (const LayerSpec& layer : network.layers) json["layers"].push_back(layer_json(layer, network));
  for (const Part& part : network.parts) {
    json["parts"].push_back(tensor(part.range, part.shape));
    json["parts"].back()["name"] = part.name;
  }
  return json;
}

}  // namespace mgcompare
