#pragma once

// Reads the value of one setting of a layer, such as `kernel: [3, 5]`. What cannot be read is added to the problems, and the setting stays as it is.

#include <cstddef>
#include <vector>

#include "config/config.h"
#include "config/keys.h"
#include "config/problem.h"
#include "config/yaml_guard.h"

namespace mgcompare {

void read_setting(const LayerKey& key, const Node& node, LayerConfig& layer, std::vector<Problem>& problems);

// Of any key whose value is a whole number.
void read_count(const LayerKey& key, const Node& node, std::size_t& field, std::vector<Problem>& problems);

}  // namespace mgcompare
