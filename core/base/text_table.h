#pragma once

// Text in aligned columns, for terminals.

#include <cstddef>
#include <string>
#include <vector>

namespace mgcompare {

using TextRow = std::vector<std::string>;

// One line for each row, without a line end and without spaces at its end. Two spaces separate columns. The first `left`
// columns are aligned to the left, the others to the right. Cells are valid UTF-8 without line ends; rows may be shorter
// than the longest one.
std::vector<std::string> text_table(const std::vector<TextRow>& rows, std::size_t left);

}  // namespace mgcompare
