#pragma once

// What a page carries inside of itself, so that it needs no other file.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace mgcompare {

// What a content policy calls this script.
std::string policy_hash(std::string_view script);
// The address of a picture that is its own content; empty for none.
std::string image_of(const std::string& svg);
// JSON that no HTML parser takes for anything else.
std::string island(const nlohmann::ordered_json& json);

}  // namespace mgcompare
