#pragma once

// Reads Markdown as a renderer does, as far as the reports use it.

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace mgcompare {

// The lines outside of code blocks. Expects that every block ends, and that every row of a table has as many cells as its
// header.
inline std::vector<std::string> markdown_lines(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  std::string fence;
  std::size_t columns = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t ticks = std::min(line.find_first_not_of('`'), line.size());
    if (fence.empty() ? ticks >= 3 : line == fence) {
      fence = fence.empty() ? std::string(ticks, '`') : "";
      continue;
    }
    if (!fence.empty()) continue;
    std::size_t bars = 0;
    for (std::size_t k = 0; k < line.size(); ++k) bars += line[k] == '|' && (k == 0 || line[k - 1] != '\\') ? 1 : 0;
    if (columns != 0 && bars != 0) {
      EXPECT_EQ(bars, columns) << line;
    }
    columns = bars;
    found.push_back(line);
  }
  EXPECT_EQ(fence, "") << "a code block has no end";
  return found;
}

}  // namespace mgcompare
