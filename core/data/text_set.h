#pragma once

// A text file in UTF-8, plain or compressed by gzip, as sequences of characters with the next character as target.

#include <string>
#include <vector>

#include "data/source.h"

namespace mgcompare {

// The text without a byte order mark, as numbers of its characters, which are sorted by code point.
struct TextTokens {
  std::vector<std::int32_t> values;
  std::vector<char32_t> alphabet;
};

// Throws DataError with the byte where the text is no UTF-8, or with the encoding if it looks like UTF-16 or UTF-32.
TextTokens read_text_tokens(const std::string& path);

extern const DataSourceEntry kText;

}  // namespace mgcompare
