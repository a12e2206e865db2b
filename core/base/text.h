#pragma once

// Text from plugins, files and other processes, made safe to print.

#include <string>
#include <string_view>

namespace mgcompare {

// Of UTF-8, at the start of a file. It is no part of the text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// One line of valid UTF-8 without control characters, terminal escape sequences and characters that reverse the direction
// of text. Line ends and tabs become spaces; line ends at the end are dropped; invalid bytes become U+FFFD.
std::string plain(std::string_view text);
// The same for text of several lines, whose line ends are kept.
std::string plain_lines(std::string_view text);

// Bytes of the UTF-8 character at the start of `text`; 0 if there is none. Overlong forms, surrogates and code points
// above U+10FFFF are invalid.
std::size_t utf8_length(std::string_view text);

// Whether all of it is.
bool is_utf8(std::string_view text);

// Columns that valid UTF-8 takes in a terminal: two for a wide character, none for a combining one.
std::size_t width_of(std::string_view text);
// The longest beginning of valid UTF-8 that takes at most `columns`.
std::string_view fitting(std::string_view text, std::size_t columns);
// Replaces every character that is not ASCII with "?".
std::string ascii(std::string_view text);

// The text, or its beginning of at most `bytes` and a note how many were left out.
std::string shortened(std::string_view text, std::size_t bytes = std::size_t{8} << 10);

// plain(), quoted for a POSIX shell.
std::string in_shell(std::string_view text);

}  // namespace mgcompare
