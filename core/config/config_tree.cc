#include "config/config_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/sha256.h"
#include "config/config_reader.h"
#include "config/key_value.h"
#include "config/keys.h"

namespace mgcompare {
namespace {

using Json = nlohmann::ordered_json;

Json place_json(const Place& place) { return Json::array({place.file, place.line, place.column}); }

// A scalar keeps its type: text that the reader accepts as a number or a flag becomes one.
Json scalar_json(const std::string& text, bool quoted) {
  if (quoted || !needs_quotes(text)) return text;
  const Json value = Json::parse(text, nullptr, false);
  return value.is_number() || value.is_boolean() ? value : Json(text);
}

Json node_json(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return nullptr;
    case Node::Kind::scalar:
      return scalar_json(node.text, node.quoted);
    case Node::Kind::sequence: {
      Json list = Json::array();
      for (const Node& item : node.items) list.push_back(node_json(item));
      return list;
    }
    case Node::Kind::map:
      break;
  }
  Json map = Json::object();
  for (const Entry& entry : node.entries) map[entry.key] = node_json(entry.value);
  return map;
}

Json initializer_json(const InitializerConfig& weights) {
  const std::string name(to_string(weights.kind));
  const bool sized = weights.kind == InitializerKind::normal || weights.kind == InitializerKind::uniform;
  return sized ? Json{{name, weights.scale}} : Json(name);
}

struct ShowSetting {
  LayerConfig& layer;
  Json operator()(InitializerConfig& (*field)(LayerConfig&)) const { return initializer_json(field(layer)); }
  Json operator()(std::size_t* (*field)(LayerConfig&)) const { return Json::array({field(layer)[0], field(layer)[1]}); }
  Json operator()(std::optional<double>& (*field)(LayerConfig&)) const {
    return field(layer) ? Json(*field(layer)) : Json(nullptr);
  }
  template <class T>
  Json operator()(T& (*field)(LayerConfig&)) const {
    return field(layer);
  }
};

Json layer_settings(const LayerConfig& layer) {
  Json settings = Json::object();
  LayerConfig copy = layer;
  for (const std::string& key : find_layer(to_string(layer.type))->keys) {
    Json value = std::visit(ShowSetting{copy}, find_layer_key(key)->field);
    if (!value.is_null()) settings[key] = std::move(value);
  }
  return settings.empty() ? Json(nullptr) : settings;
}

Json layers_json(const std::vector<LayerConfig>& layers) {
  Json list = Json::array();
  std::map<LayerType, int> count;
  for (const LayerConfig& layer : layers) {
    const std::string type(to_string(layer.type));
    Json item = {{type, layer_settings(layer)}};
    if (layer.name != type + std::to_string(++count[layer.type])) item["name"] = layer.name;
    if (!layer.inputs.empty()) item["inputs"] = layer.inputs;
    item["@place"] = place_json(layer.place);
    list.push_back(std::move(item));
  }
  return list;
}

Json models_json(const std::vector<ModelConfig>& models) {
  Json list = Json::array();
  for (const ModelConfig& model : models) list.push_back({{"name", model.name}, {"layers", layers_json(model.layers)}});
  return list;
}

Json devices_json(const ScalingConfig& scaling) {
  if (scaling.automatic) return "auto";
  Json list = Json::array();
  for (const DevicesConfig& devices : scaling.devices) {
    if (!devices.ids.empty()) {
      list.push_back({{"ids", devices.ids}});
      if (devices.kind != "auto") list.back()["kind"] = devices.kind;
    } else if (devices.if_present) {
      list.push_back({{"auto", devices.count}});
    } else if (devices.hosts > 1) {
      list.push_back(fmt::format("{}{}x{}", devices.kind == "auto" ? "" : devices.kind + ":", devices.hosts, devices.count / devices.hosts));
    } else if (devices.kind == "auto") {
      list.push_back(devices.count);
    } else {
      list.push_back(fmt::format("{}:{}", devices.kind, devices.count));
    }
  }
  return list;
}

Json variants_json(const std::vector<VariantConfig>& variants) {
  Json list = Json::array();
  for (const VariantConfig& variant : variants) {
    Json set = Json::object();
    for (const auto& [name, text] : variant.overrides) {
      std::vector<Problem> problems;
      const auto value = parse_yaml(text, "", problems);
      set[name] = value ? node_json(*value) : Json(text);
    }
    list.push_back({{"name", variant.name}, {"set", set}, {"@place", place_json(variant.place)}});
  }
  return list;
}

Json strategies_json(const std::vector<StrategyConfig>& strategies) {
  Json list = Json::array();
  for (const StrategyConfig& strategy : strategies) {
    Json options = Json::object();
    if (strategy.label != strategy.name) options["as"] = strategy.label;
    for (const OptionConfig& option : strategy.options) options[option.key] = scalar_json(option.value, option.quoted);
    list.push_back(
        {{strategy.name, options.empty() ? Json(nullptr) : options}, {"@place", place_json(strategy.place)}});
  }
  return list;
}

Json special_json(std::string_view name, const Config& config) {
  if (name == "models") return config.models.empty() ? Json() : models_json(config.models);
  if (name == "model" || name == "layers") {
    if (!config.models.empty()) return nullptr;
    return name == "model" ? Json(config.model.name) : layers_json(config.model.layers);
  }
  if (name == "scaling.devices") return devices_json(config.scaling);
  if (name == "variants") return variants_json(config.variants);
  if (name == "strategies") return strategies_json(config.strategies);
  return nullptr;
}

template <class AnyJson>
AnyJson settings_of(const AnyJson& json) {
  if (json.is_array()) {
    AnyJson list = AnyJson::array();
    for (const auto& item : json) list.push_back(settings_of(item));
    return list;
  }
  if (!json.is_object()) return json;
  AnyJson map = AnyJson::object();
  for (const auto& [key, value] : json.items()) {
    if (!key.starts_with('@')) map[key] = settings_of(value);
  }
  return map;
}

// Writes `- tanh: ~` as `- tanh`, which means the same.
void shorten(Node& node) {
  for (Node& item : node.items) {
    const bool bare = item.entries.size() == 1 && item.entries[0].value.is(Node::Kind::null);
    if (bare) item = Node{Node::Kind::scalar, item.entries[0].key, false, {}, {}, {}};
  }
  for (Entry& entry : node.entries) shorten(entry.value);
}

// "/data/crop/padding"
Json::json_pointer pointer_to(const Key& key) {
  std::string path = "/" + std::string(key.name);
  std::replace(path.begin(), path.end(), '.', '/');
  return Json::json_pointer(path);
}

}  // namespace

Json resolved_tree(const Config& config) {
  Json tree = Json::object();
  for (const Key& key : keys()) {
    const bool is_special = std::holds_alternative<std::monostate>(key.field);
    Json value = is_special ? special_json(key.name, config) : value_of(key, config);
    if (value.is_null()) continue;
    tree[pointer_to(key)] = std::move(value);
  }
  tree["@path"] = config.path;
  tree["@cut_down_for_cpu"] = config.cut_down_for_cpu;
  return tree;
}

Node to_node(const Json& json) {
  Node node;
  if (json.is_object()) {
    node.kind = Node::Kind::map;
    for (const auto& [key, value] : json.items()) {
      if (key == "@place" && value.is_array() && value.size() == 3 && value[0].is_string() && value[1].is_number() &&
          value[2].is_number()) {
        node.place = {value[0].get<std::string>(), value[1].get<int>(), value[2].get<int>()};
      } else if (!key.starts_with('@')) {
        node.entries.push_back({key, {}, to_node(value)});
      }
    }
  } else if (json.is_array()) {
    node.kind = Node::Kind::sequence;
    for (const Json& item : json) node.items.push_back(to_node(item));
  } else if (!json.is_null()) {
    node.kind = Node::Kind::scalar;
    node.text = json.is_string() ? json.get<std::string>() : json.dump();
    // YAML 1.1 readers read 1e-08 as text and 1.0e-08 as a number.
    const std::size_t exponent = json.is_number_float() ? node.text.find('e') : std::string::npos;
    if (exponent != std::string::npos && node.text.find('.') == std::string::npos) node.text.insert(exponent, ".0");
    node.quoted = json.is_string() && needs_quotes(node.text);
  }
  return node;
}

void to_json(nlohmann::json& json, const Config& config) { json = resolved_tree(config); }

void from_json(const nlohmann::json& json, Config& config) {
  std::vector<Problem> problems;
  const std::string path = json.value("@path", "");
  const Node root = to_node(Json(json));
  ConfigReader reader(path, "", problems);
  Config read = reader.read(root);
  read.cut_down_for_cpu = json.value("@cut_down_for_cpu", false);
  reader.read_variants(root, read);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  config = std::move(read);
}

std::string resolved_yaml(const Config& config) {
  Node root = to_node(resolved_tree(config));
  shorten(root);
  return to_yaml(root);
}

std::string config_hash(const Config& config) {
  Config same = config;
  same.hosts = {.names = config.hosts.names};  // how they are started and watched changes no trial
  nlohmann::json settings = settings_of(nlohmann::json(same));
  settings.erase("price_per_device_hour");     // likewise
  return sha256(settings.dump());
}

std::string config_slug(const std::string& name) {
  constexpr std::size_t kLongest = 48, kHashLength = 8;
  std::string slug;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (kept || upper) {
      slug += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  while (slug.ends_with('-')) slug.pop_back();
  if (slug == name && slug.size() <= kLongest && !slug.empty()) return slug;
  slug.resize(std::min(slug.size(), kLongest - kHashLength - 1));
  return (slug.empty() ? "" : slug + "-") + sha256(name).substr(0, kHashLength);
}

}  // namespace mgcompare
