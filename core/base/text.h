#pragma once

// Text from plugins, files and other processes, made safe to print.

#include <string>
#include <string_view>

namespace mgcompare {

// One line of valid UTF-8 without control characters, terminal escape sequences and characters that reverse the direction
// of text. Line ends and tabs become spaces; line ends at the end are dropped; invalid bytes become U+FFFD.
std::string plain(std::string_view text);
// The same for text of several lines, whose line ends are kept.
std::string plain_lines(std::string_view text);

// Columns that valid UTF-8 takes in a terminal, counting one for each character.
std::size_t width_of(std::string_view text);
// Replaces every character that is not ASCII with "?".
std::string ascii(std::string_view text);

}  // namespace mgcompare
