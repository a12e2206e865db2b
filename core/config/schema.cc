// The JSON schema (draft 7) of a config, from the tables of keys. Editors use it for completion and checks.

#include <nlohmann/json.hpp>

#include "config/key_value.h"
#include "config/keys.h"

namespace mgcompare {
namespace {

using Json = nlohmann::ordered_json;

Json nullable(Json schema) { return {{"anyOf", {std::move(schema), {{"type", "null"}}}}}; }

Json list_or_one(const Json& item, bool repeats = false) {
  Json list = {{"type", "array"}, {"items", item}};
  if (!repeats) list["uniqueItems"] = true;
  return {{"anyOf", {item, list}}};
}

Json number(const char* type, double min, double max) {
  Json schema = {{"type", type}};
  if (std::string(type) == "integer") {
    schema["minimum"] = static_cast<std::int64_t>(min);
    schema["maximum"] = static_cast<std::int64_t>(max);
  } else {
    schema["minimum"] = min;
    schema["maximum"] = max;
  }
  return schema;
}

Json object(Json properties) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

Json reference(const std::string& name) { return {{"$ref", "#/definitions/" + name}}; }

Json special(std::string_view name) {
  if (name == "model") return {{"type", "string"}};
  const Json layers = {{"type", "array"}, {"minItems", 1}, {"items", reference("layer")}};
  if (name == "layers") return layers;
  if (name == "models") {
    Json network = object({{"name", {{"type", "string"}}}, {"layers", layers}});
    network["required"] = {"name", "layers"};
    return {{"type", "array"}, {"minItems", 1}, {"items", {{"anyOf", {{{"type", "string"}}, network}}}}};
  }
  if (name == "scaling.devices") {
    const Json one = {
        {"anyOf", {number("integer", 1, 4096), {{"type", "string"}, {"pattern", "^((cpu|cuda):)?([1-9][0-9]*x)?[1-9][0-9]*$"}}}}};
    const Json count = number("integer", 1, 4096);
    Json present = object({{"auto", {{"anyOf", {count, {{"type", "array"}, {"items", count}, {"minItems", 1}}}}}}});
    present["required"] = {"auto"};
    const Json id = number("integer", 0, 4095);
    Json chosen = object({{"ids", {{"anyOf", {id, {{"type", "array"}, {"items", id}, {"minItems", 1}, {"uniqueItems", true}}}}}},
                          {"kind", {{"enum", {"cpu", "cuda"}}}}});
    chosen["required"] = {"ids"};
    const Json item = {{"anyOf", {one, present, chosen}}};
    return {{"anyOf", {{{"const", "auto"}}, one, present, chosen, {{"type", "array"}, {"items", item}, {"minItems", 1}, {"uniqueItems", true}}}}};
  }
  if (name == "variants") {
    Json variant = object({{"name", {{"type", "string"}}}, {"set", {{"type", "object"}}}});
    variant["required"] = {"name", "set"};
    return {{"type", "array"}, {"items", variant}};
  }
  if (name == "strategies") {
    const Json options = {{"type", {"object", "null"}},
                          {"additionalProperties", {{"type", {"string", "number", "boolean"}}}}};
    return {
        {"type", "array"},
        {"minItems", 1},
        {"items",
         {{"anyOf",
           {{{"type", "string"}},
            {{"type", "object"}, {"maxProperties", 1}, {"minProperties", 1}, {"additionalProperties", options}}}}}}};
  }
  return {{"type", "object"}};  // when_cpu: the same keys, nested or dotted
}

struct SchemaOf {
  const Key& key;
  Json operator()(std::monostate) const { return special(key.name); }
  Json operator()(std::string& (*)(Config&)) const { return {{"type", "string"}}; }
  Json operator()(const Choice& choice) const { return {{"type", "string"}, {"enum", choice.names}}; }
  Json operator()(double& (*)(Config&)) const { return number("number", key.min, key.max); }
  Json operator()(std::size_t& (*)(Config&)) const { return number("integer", key.min, key.max); }
  Json operator()(bool& (*)(Config&)) const { return {{"type", "boolean"}}; }
  Json operator()(std::vector<double>& (*)(Config&)) const {
    return list_or_one(number("number", key.min, key.max), key.repeats);
  }
  Json operator()(std::vector<std::size_t>& (*)(Config&)) const {
    return list_or_one(number("integer", key.min, key.max), key.repeats);
  }
  Json operator()(std::vector<std::string>& (*)(Config&)) const { return list_or_one({{"type", "string"}}); }
};

struct SettingSchema {
  const LayerKey& key;
  Json operator()(std::size_t& (*)(LayerConfig&)) const { return number("integer", key.min, key.max); }
  Json operator()(double& (*)(LayerConfig&)) const { return number("number", key.min, key.max); }
  Json operator()(std::optional<double>& (*)(LayerConfig&)) const { return number("number", key.min, key.max); }
  Json operator()(bool& (*)(LayerConfig&)) const { return {{"type", "boolean"}}; }
  Json operator()(std::size_t* (*)(LayerConfig&)) const {
    const Json one = number("integer", key.min, key.max);
    return {{"anyOf", {one, {{"type", "array"}, {"items", one}, {"minItems", 2}, {"maxItems", 2}}}}};
  }
  Json operator()(InitializerConfig& (*)(LayerConfig&)) const {
    return {{"anyOf",
             {{{"type", "string"}, {"enum", initializers()}},
              object({{"normal", {{"type", "number"}}}, {"uniform", {{"type", "number"}}}})}}};
  }
};

Json setting_schema(const LayerKey& key) {
  Json schema = std::visit(SettingSchema{key}, key.field);
  schema["description"] = key.help;
  return schema;
}

Json layer_schema() {
  Json names = Json::array(), properties = Json::object();
  for (const LayerDescription& layer : layer_descriptions()) {
    names.push_back(layer.name());
    Json settings = Json::object();
    for (const std::string& key : layer.keys) settings[key] = setting_schema(*find_layer_key(key));
    Json forms = {object(settings), {{"type", "null"}}};
    if (!layer.shorthand.empty()) forms.push_back(setting_schema(*find_layer_key(layer.shorthand)));
    properties[std::string(layer.name())] = {{"description", layer.help}, {"anyOf", forms}};
  }
  Json block = object({{"times", number("integer", 1, 1000)},
                       {"name", {{"type", "string"}}},
                       {"layers", {{"type", "array"}, {"minItems", 1}, {"items", reference("layer")}}}});
  block["required"] = {"times", "layers"};
  block["description"] = kRepeatHelp;
  properties["repeat"] = std::move(block);
  properties["name"] = {{"type", "string"}};
  properties["inputs"] = list_or_one({{"type", "string"}});
  return {{"anyOf", {{{"type", "string"}, {"enum", names}}, object(properties)}}};
}

// A leaf with a dot belongs to a section within the section.
void add_property(Json& section, const std::string& leaf, Json schema) {
  const std::size_t dot = leaf.find('.');
  if (dot == leaf.npos) {
    section["properties"][leaf] = std::move(schema);
    return;
  }
  Json& inner = section["properties"][leaf.substr(0, dot)];
  if (inner.is_null()) inner = {{"type", {"object", "null"}}, {"properties", Json::object()}, {"additionalProperties", false}};
  add_property(inner, leaf.substr(dot + 1), std::move(schema));
}

}  // namespace

std::string json_schema() {
  Json properties = Json::object();
  for (const Key& key : keys()) {
    Json schema = nullable(std::visit(SchemaOf{key}, key.field));
    schema["description"] = std::string(key.help) + (key.unit.empty() ? "" : " In " + std::string(key.unit) + ".");
    const Json default_value = value_of(key, Config());
    if (!default_value.is_null() && default_value != Json("")) schema["default"] = default_value;
    const std::string leaf(key.leaf());
    if (key.section().empty()) {
      properties[leaf] = std::move(schema);
    } else {
      Json& section = properties[std::string(key.section())];
      if (section.is_null()) section = {{"type", {"object", "null"}}, {"properties", Json::object()}};
      section["additionalProperties"] = false;
      if (key.bare) section["type"] = {"object", "null", "string"};
      add_property(section, leaf, std::move(schema));
    }
  }
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "An experiment of mgcompare"}};
  schema.update(object(properties));
  schema["required"] = {"strategies"};
  schema["definitions"] = {{"layer", layer_schema()}};
  return schema.dump(2) + "\n";
}

}  // namespace mgcompare
