#pragma once

// What results.json says of several frameworks. reports/README.md has the fields.

#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "reports/comparison.h"
#include "reports/framework.h"

namespace mgcompare {

nlohmann::ordered_json frameworks_json(const std::vector<Framework>& frameworks);
// Of the networks of a run; empty unless rows of several frameworks are done.
nlohmann::ordered_json by_framework_json(std::span<const Comparison> parts);

}  // namespace mgcompare
