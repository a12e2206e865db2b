// Checks of the documentation: its links resolve, and the README stays short.

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "docs/pages.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestReadme = 9216;

std::vector<fs::path> pages() {
  std::vector<fs::path> all = {kRoot / "README.md", kRoot / "CONTRIBUTING.md", kRoot / "reports/README.md",
                               kRoot / "configs/OPTIONS.md"};
  for (const char* folder : {"docs", "plugins"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
      if (entry.path().extension() == ".md") all.push_back(entry.path());
  }
  return all;
}

// Lines outside of code blocks.
std::vector<std::string> prose_of(const fs::path& file) {
  std::vector<std::string> lines;
  std::istringstream stream(text_of(file));
  bool is_code = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("```")) is_code = !is_code;
    else if (!is_code) lines.push_back(line);
  }
  return lines;
}

// "On a machine without a compiler" -> "on-a-machine-without-a-compiler", as GitHub names headings.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_')
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (c == ' ')
      anchor += '-';
  }
  return anchor;
}

std::set<std::string> anchors_of(const fs::path& file) {
  std::set<std::string> anchors;
  for (const std::string& line : prose_of(file)) {
    const std::size_t level = line.find_first_not_of('#');
    if (level != std::string::npos && level > 0 && line[level] == ' ') anchors.insert(anchor_of(line.substr(level + 1)));
  }
  return anchors;
}

struct LinkModel {
  std::string file, anchor;
};

std::vector<LinkModel> links_of(const fs::path& page) {
  static const std::regex link(R"(\]\(([^)\s]+)\))"), code("`[^`]*`");
  std::vector<LinkModel> links;
  for (const std::string& line : prose_of(page)) {
    // A link's text may be code, so code spans are emptied and not removed.
    const std::string text = std::regex_replace(line, code, "``");
    for (std::sregex_iterator match(text.begin(), text.end(), link), end; match != end; ++match) {
      const std::string target = (*match)[1];
      if (target.find("://") != std::string::npos || target.starts_with("mailto:")) continue;
      const std::size_t hash = target.find('#');
      links.push_back({target.substr(0, hash), hash == std::string::npos ? "" : target.substr(hash + 1)});
    }
  }
  return links;
}

// Returns an empty string, or what is wrong with the link.
std::string problem_of(const fs::path& page, const LinkModel& link) {
  const fs::path file = link.file.empty() ? page : page.parent_path() / link.file;
  if (!fs::exists(file)) return "there is no " + file.lexically_normal().string();
  if (!link.anchor.empty() && anchors_of(file).count(link.anchor) == 0)
    return file.filename().string() + " has no heading #" + link.anchor;
  return "";
}

TEST(Docs, EveryLinkLeadsToAFileAndHeading) {
  std::size_t links = 0;
  for (const fs::path& page : pages()) {
    ASSERT_TRUE(fs::exists(page)) << page;
    for (const LinkModel& link : links_of(page)) {
      ++links;
      EXPECT_EQ(problem_of(page, link), "") << "linked in " << page.lexically_relative(kRoot);
    }
  }
  EXPECT_GT(links, 80u);
}

TEST(Docs, ABrokenLinkIsFound) {
  const fs::path page = fs::path(testing::TempDir()) / ("mgcompare-links-" + std::to_string(getpid()) + ".md");
  std::ofstream(page) << "# One heading\n[good](#one-heading) and [`bad`](nowhere.md)\n```\n[code](no.md)\n```\n"
                         "[worse](#other) `[code](no.md)` [web](https://example.org/a)\n";
  std::vector<std::string> problems;
  for (const LinkModel& link : links_of(page)) problems.push_back(problem_of(page, link));
  fs::remove(page);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0], "");
  EXPECT_NE(problems[1].find("there is no"), std::string::npos);
  EXPECT_NE(problems[2].find("no heading #other"), std::string::npos);
}

TEST(Docs, TheReadmeIsShort) { EXPECT_LE(fs::file_size(kRoot / "README.md"), kLongestReadme); }

// Every page is listed in the index, or in the index of its folder.
TEST(Docs, EveryPageIsInTheIndex) {
  std::set<fs::path> linked;
  for (const char* index : {"docs/README.md", "docs/benchmarks/README.md", "docs/experiments/README.md"}) {
    const fs::path page = kRoot / index;
    for (const LinkModel& link : links_of(page)) linked.insert((page.parent_path() / link.file).lexically_normal());
  }
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() != ".md" || entry.path() == kRoot / "docs/README.md") continue;
    EXPECT_EQ(linked.count(entry.path().lexically_normal()), 1u) << entry.path();
  }
}

}  // namespace
}  // namespace mgcompare
