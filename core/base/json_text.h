#pragma once

// JSON as text.

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace mgcompare {

// On one line, or indented. Strings from plugins and logs may not be UTF-8: invalid bytes become U+FFFD.
std::string json_text(const nlohmann::json& json, int indent = -1);

}  // namespace mgcompare
