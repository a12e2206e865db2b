// The table of faults in docs/testing.md names tests and suites that exist.

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "docs/pages.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

// "Suite" and "Suite.Name" of all tests.
std::set<std::string> known_tests() {
  static const std::regex test(R"(\bTEST(?:_[FP])?\((\w+),\s*(\w+)\))");
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "tests")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = text_of(entry.path());
    for (std::sregex_iterator match(text.begin(), text.end(), test), end; match != end; ++match) {
      names.insert((*match)[1]);
      names.insert((*match)[1].str() + "." + (*match)[2].str());
    }
  }
  return names;
}

TEST(FaultTable, NamesTestsThatExist) {
  static const std::regex name("`([A-Z]\\w+(?:\\.\\w+)?)`");
  const std::set<std::string> known = known_tests();
  const std::string page = text_of(kRoot / "docs/testing.md");
  const std::size_t begin = page.find("## Faults\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string table = page.substr(begin, page.find("\n## ", begin) - begin);
  int rows = 0, names = 0;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| ", 0) != 0 || std::isdigit(static_cast<unsigned char>(line[2])) == 0) continue;
    EXPECT_EQ(std::stoi(line.substr(2)), ++rows);
    for (std::sregex_iterator match(line.begin(), line.end(), name), end; match != end; ++match, ++names)
      EXPECT_EQ(known.count((*match)[1]), 1u) << (*match)[1] << " in row " << rows;
  }
  EXPECT_EQ(rows, 33);
  EXPECT_GT(names, 60);
}

}  // namespace
}  // namespace mgcompare
