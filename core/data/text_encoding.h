#pragma once

// The encoding of a text file, by its first bytes.

#include <string>
#include <string_view>

namespace mgcompare {

// "UTF-16" or "UTF-32" if the text begins with the byte order mark of one, or like ASCII characters in one. Empty for every other
// text.
std::string_view wide_encoding(std::string_view text);

// "the text is in UTF-16: convert it ..."
std::string wide_encoding_text(std::string_view encoding);

}  // namespace mgcompare
