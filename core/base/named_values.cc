#include "base/named_values.h"

#include <fstream>

#include "base/number_text.h"

namespace mgcompare {

std::string word_in(const std::string& file, std::string_view name) {
  std::ifstream stream(file);
  for (std::string word; stream >> word;)
    if (word == name && stream >> word) return word;
  return "";
}

std::optional<std::uint64_t> number_in(const std::string& file, std::string_view name) { return parse_number<std::uint64_t>(word_in(file, name)); }

}  // namespace mgcompare
