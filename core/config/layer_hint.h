#pragma once

// What to write in place of a mistaken setting of a layer.

#include <string>

#include "config/keys.h"
#include "config/yaml_guard.h"

namespace mgcompare {

// Whether the layer has several inputs.
bool joins(LayerType type);

// "write `inputs: [a, b]` beside 'add', on the same level": for `key`, "inputs" or "name", with the value that was written elsewhere.
std::string hint_beside(const LayerDescription& layer, const std::string& key, const Node& value);

// For the words that other frameworks have for a number of zeros; otherwise empty.
std::string padding_hint(const LayerKey& key, const Node& value);

}  // namespace mgcompare
