#pragma once

// Sequences of integers in text files, plain or compressed by gzip: one sequence per line, separated by commas, semicolons, tabs
// or spaces. Files are untrusted: for any content, reading returns sequences or throws one DataError that names file and line.

#include <string>
#include <vector>

#include "data/source.h"

namespace mgcompare {

struct TokenLines {
  std::size_t length = 0;           // integers per line
  std::vector<std::int32_t> values; // lines x length
  std::size_t lines() const { return length == 0 ? 0 : values.size() / length; }
};

// `length`: integers that each line must have; 0: as many as the first one. Each integer is below `limit`.
TokenLines read_tokens(const std::string& path, std::size_t length, std::size_t limit);

extern const DataSourceEntry kTokens;

}  // namespace mgcompare
