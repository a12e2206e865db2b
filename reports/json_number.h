#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace mgcompare {

// JSON has neither nan nor infinity: they become null.
inline nlohmann::ordered_json json_number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

}  // namespace mgcompare
