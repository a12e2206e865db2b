// The JSON schema (draft 7) of a config, from the tables of keys: editors complete and check with it.

#include <nlohmann/json.hpp>

#include "config/keys.h"

namespace mgcompare {
namespace {

using Json = nlohmann::ordered_json;

Json nullable(Json schema) { return {{"anyOf", {std::move(schema), {{"type", "null"}}}}}; }

Json list_or_one(const Json& item) {
  return {{"anyOf", {item, {{"type", "array"}, {"items", item}, {"uniqueItems", true}}}}};
}

Json number(const char* type, double least, double most) {
  Json schema = {{"type", type}};
  if (std::string(type) == "integer") {
    schema["minimum"] = static_cast<std::int64_t>(least);
    schema["maximum"] = static_cast<std::int64_t>(most);
  } else {
    schema["minimum"] = least;
    schema["maximum"] = most;
  }
  return schema;
}

Json object(Json properties) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

Json reference(const std::string& name) { return {{"$ref", "#/definitions/" + name}}; }

Json special(std::string_view name) {
  if (name == "model") return {{"type", "string"}};
  if (name == "layers") return {{"type", "array"}, {"minItems", 1}, {"items", reference("layer")}};
  if (name == "scaling.devices") {
    const Json one = {
        {"anyOf", {number("integer", 1, 4096), {{"type", "string"}, {"pattern", "^(cpu|cuda):[1-9][0-9]*$"}}}}};
    return {{"anyOf",
             {{{"const", "auto"}}, one, {{"type", "array"}, {"items", one}, {"minItems", 1}, {"uniqueItems", true}}}}};
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
  Json operator()(std::string& (*)(Config&)) const {
    Json schema = {{"type", "string"}};
    if (!key.choices.empty()) schema["enum"] = key.choices;
    return schema;
  }
  Json operator()(double& (*)(Config&)) const { return number("number", key.least, key.most); }
  Json operator()(std::size_t& (*)(Config&)) const { return number("integer", key.least, key.most); }
  Json operator()(bool& (*)(Config&)) const { return {{"type", "boolean"}}; }
  Json operator()(std::vector<double>& (*)(Config&)) const {
    return list_or_one(number("number", key.least, key.most));
  }
  Json operator()(std::vector<std::size_t>& (*)(Config&)) const {
    return list_or_one(number("integer", key.least, key.most));
  }
  Json operator()(std::vector<std::string>& (*)(Config&)) const { return list_or_one({{"type", "string"}}); }
};

struct DefaultOf {
  Config config;
  Json operator()(std::monostate) { return nullptr; }
  template <class T>
  Json operator()(T& (*field)(Config&)) {
    return field(config);
  }
};

struct SettingSchema {
  const LayerKey& key;
  Json operator()(std::size_t& (*)(LayerConfig&)) const { return number("integer", key.least, key.most); }
  Json operator()(double& (*)(LayerConfig&)) const { return number("number", key.least, key.most); }
  Json operator()(bool& (*)(LayerConfig&)) const { return {{"type", "boolean"}}; }
  Json operator()(std::size_t* (*)(LayerConfig&)) const {
    const Json one = number("integer", key.least, key.most);
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
  for (const LayerType& type : layer_types()) {
    names.push_back(type.name);
    Json settings = Json::object();
    for (const std::string& key : type.keys) settings[key] = setting_schema(*find_layer_key(key));
    Json forms = {object(settings), {{"type", "null"}}};
    if (!type.shorthand.empty()) forms.push_back(setting_schema(*find_layer_key(type.shorthand)));
    properties[std::string(type.name)] = {{"description", type.help}, {"anyOf", forms}};
  }
  properties["name"] = {{"type", "string"}};
  properties["inputs"] = list_or_one({{"type", "string"}});
  return {{"anyOf", {{{"type", "string"}, {"enum", names}}, object(properties)}}};
}

}  // namespace

std::string json_schema() {
  Json properties = Json::object();
  for (const Key& key : keys()) {
    Json schema = nullable(std::visit(SchemaOf{key}, key.field));
    schema["description"] = std::string(key.help) + (key.unit.empty() ? "" : " In " + std::string(key.unit) + ".");
    const Json otherwise = std::visit(DefaultOf{}, key.field);
    if (!otherwise.is_null() && otherwise != Json("")) schema["default"] = otherwise;
    const std::string leaf(key.leaf());
    if (key.section().empty()) {
      properties[leaf] = std::move(schema);
    } else {
      Json& section = properties[std::string(key.section())];
      if (section.is_null()) section = {{"type", {"object", "null"}}, {"properties", Json::object()}};
      section["additionalProperties"] = false;
      if (key.bare) section["type"] = {"object", "null", "string"};
      section["properties"][leaf] = std::move(schema);
    }
  }
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "An experiment of mgcompare"}};
  schema.update(object(properties));
  schema["required"] = {"strategies"};
  schema["definitions"] = {{"layer", layer_schema()}};
  return schema.dump(2) + "\n";
}

}  // namespace mgcompare
