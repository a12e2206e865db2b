#pragma once

// Config -> tree in the shape of its YAML, with all defaults filled in, in the order of the table of keys.

#include <nlohmann/json.hpp>

#include "config/config.h"
#include "config/yaml_guard.h"

namespace mgcompare {

// Keys that begin with @ are not settings.
nlohmann::ordered_json resolved_tree(const Config& config);

// Keys that begin with @ are left out, but "@place" becomes the node's place.
Node to_node(const nlohmann::ordered_json& json);

}  // namespace mgcompare
