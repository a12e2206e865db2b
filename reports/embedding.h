#pragma once

// Encodings of scripts, pictures and JSON that are embedded in the page, so that it needs no other file.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace mgcompare {

// The hash of a script for the content security policy.
std::string policy_hash(std::string_view script);
// A data URL of the picture; empty if there is none.
std::string image_of(const std::string& svg);
// JSON for a <script> element: an HTML parser cannot end the element early.
std::string island(const nlohmann::ordered_json& json);

}  // namespace mgcompare
