#pragma once

// A Config as a tree in the shape of its YAML, every default filled in, in the order of the table of keys.

#include <nlohmann/json.hpp>

#include "config/config.h"
#include "config/yaml_guard.h"

namespace mgcompare {

// Keys that begin with @ carry what is not a setting.
nlohmann::ordered_json resolved_tree(const Config& config);

// What begins with @ is left out, but "@place" becomes the node's place.
Node to_node(const nlohmann::ordered_json& json);

}  // namespace mgcompare
