#pragma once

// Files of names and values, such as /proc/meminfo and /proc/self/status.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mgcompare {

// The word that follows the word `name`; empty if there is none.
std::string word_in(const std::string& file, std::string_view name);
// The number that follows it.
std::optional<std::uint64_t> number_in(const std::string& file, std::string_view name);

}  // namespace mgcompare
