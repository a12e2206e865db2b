#pragma once

// Where the pages of the documentation are, and their text.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace mgcompare {

inline const std::filesystem::path kRoot = MGCOMPARE_SOURCE_DIR;

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace mgcompare
