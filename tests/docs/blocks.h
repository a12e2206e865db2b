#pragma once

// The code blocks of a page of the documentation.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace mgcompare {

struct Block {
  std::string language, text;
  std::string section;  // the last heading of level two
  int line = 0;         // of its first line of code

  // "first.yaml", if the block begins with the comment "# first.yaml" or "// first.yaml".
  std::string file() const {
    const std::string first = text.substr(0, text.find('\n'));
    const std::string mark = language == "cpp" ? "// " : "# ";
    const bool is_name = first.starts_with(mark) && first.find('.') != std::string::npos && first.find(' ', mark.size()) == std::string::npos;
    return is_name ? first.substr(mark.size()) : "";
  }
};

inline std::vector<Block> blocks_of(const std::filesystem::path& page) {
  std::ifstream file(page);
  std::vector<Block> blocks;
  std::string section;
  bool is_code = false;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with("```")) {
      is_code = !is_code;
      if (is_code) blocks.push_back({line.substr(3), "", section, number + 1});
    } else if (is_code) {
      blocks.back().text += line + "\n";
    } else if (line.starts_with("## ")) {
      section = line.substr(3);
    }
  }
  return blocks;
}

}  // namespace mgcompare
