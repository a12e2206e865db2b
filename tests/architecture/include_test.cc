// core/folders.txt lists which folder may include which. The compiler enforces it for direct and indirect includes,
// because a library exports only its own headers. This test also covers files that a build may leave out (CUDA), the
// list itself, and the plugins.

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

struct Folder {
  std::string name;
  std::set<std::string> allowed;
};

// In the order of the file: from the bottom layer to the top.
std::vector<Folder> read_folders(const fs::path& file) {
  std::vector<Folder> folders;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] == '#') continue;
    Folder folder{line.substr(0, line.find(':')), {}};
    std::istringstream rest(line.substr(folder.name.size() + 1));
    for (std::string name; rest >> name;) folder.allowed.insert(name);
    folders.push_back(folder);
  }
  return folders;
}

bool is_source(const fs::path& file) {
  static const std::set<std::string> extensions = {".h", ".cc", ".cu"};
  return extensions.contains(file.extension().string());
}

// The folder that a file of the tree at `root` belongs to: "config" for core/config/keys.h. main.cc is part of cli.
std::string folder_of(const fs::path& relative) {
  auto part = relative.begin();
  const std::string top = part->string();
  if (top != "core") return top;
  const std::string folder = (++part)->string();
  return folder == "main.cc" ? "cli" : folder == "include" ? "sdk" : folder;
}

// The folder of the header that an #include names; empty for a header in the same folder.
std::string included_folder(const std::string& header) {
  if (header.starts_with("mgcompare/")) return "sdk";
  const std::size_t slash = header.find('/');
  return slash == std::string::npos ? "" : header.substr(0, slash);
}

// Returns one sentence for each include that the list does not allow, and for each folder that it lacks.
std::vector<std::string> wrong_includes(const fs::path& root) {
  std::map<std::string, std::set<std::string>> allowed;
  for (const Folder& folder : read_folders(root / "core/folders.txt")) allowed[folder.name] = folder.allowed;
  std::vector<std::string> wrong;
  static const std::regex include(R"re(^\s*#\s*include\s+"([^"]+)")re");
  for (const char* const top : {"core", "reports", "plugins"}) {
    if (!fs::exists(root / top)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
      if (!is_source(entry.path())) continue;
      const std::string folder = folder_of(fs::relative(entry.path(), root));
      const std::string file = fs::relative(entry.path(), root).string();
      if (!allowed.contains(folder)) {
        wrong.push_back(file + ": core/folders.txt does not list its folder " + folder);
        continue;
      }
      std::ifstream stream(entry.path());
      int number = 0;
      for (std::string line; std::getline(stream, line);) {
        ++number;
        std::smatch match;
        if (!std::regex_search(line, match, include)) continue;
        const std::string other = included_folder(match[1]);
        const bool is_own = other.empty() ? folder == "plugins" : other == folder;
        if (!is_own && !allowed[folder].contains(other))
          wrong.push_back(file + ":" + std::to_string(number) + ": " + folder + " may not include " + match[1].str());
      }
    }
  }
  return wrong;
}

TEST(Includes, GoOnlyWhereTheListAllows) { EXPECT_THAT(wrong_includes(MGCOMPARE_SOURCE_DIR), IsEmpty()); }

TEST(Includes, TheListNamesOnlyFoldersAbove) {
  std::set<std::string> above;
  for (const Folder& folder : read_folders(fs::path(MGCOMPARE_SOURCE_DIR) / "core/folders.txt")) {
    EXPECT_TRUE(std::includes(above.begin(), above.end(), folder.allowed.begin(), folder.allowed.end())) << folder.name;
    above.insert(folder.name);
  }
  EXPECT_THAT(above, Contains("sdk"));
}

// Lower layers must not depend on upper ones, even if someone adds that to the list.
TEST(Includes, TheListKeepsTheLayersApart) {
  for (const Folder& folder : read_folders(fs::path(MGCOMPARE_SOURCE_DIR) / "core/folders.txt")) {
    const std::set<std::string>& allowed = folder.allowed;
    EXPECT_TRUE(folder.name == "cli" || !allowed.contains("reports")) << folder.name;
    if (folder.name == "cpu" || folder.name == "cuda") {
      EXPECT_FALSE(allowed.contains("plan")) << folder.name;
    }
    if (folder.name == "reports") {
      EXPECT_EQ(allowed, (std::set<std::string>{"sdk", "base", "config", "discovery", "plan", "results"}));
    }
    // Only workers open modules and plugins.
    if (folder.name == "cli" || folder.name == "process") {
      EXPECT_FALSE(allowed.contains("modules")) << folder.name;
      EXPECT_FALSE(allowed.contains("train")) << folder.name;
    }
    if (folder.name == "plugins") {
      EXPECT_EQ(allowed, (std::set<std::string>{"sdk"}));
    }
  }
}

class PlantedTree : public testing::Test {
 protected:
  PlantedTree() : root_(fs::temp_directory_path() / ("mgcompare-includes-" + std::to_string(getpid()))) {
    write("core/folders.txt", "# comment\nsdk:\nbase: sdk\nconfig: sdk base\nplugins: sdk\n");
    write("core/include/mgcompare/error.h", "#pragma once\n");
    write("core/base/clock.h", "#include \"mgcompare/error.h\"\n#include \"base/median.h\"\n#include <vector>\n");
    write("core/config/config.cc", "#include \"config/config.h\"\n#include \"base/clock.h\"\n");
    write("plugins/mine/mine.cc", "#include \"rules.h\"\n#include \"mgcompare/strategy.h\"\n");
  }
  ~PlantedTree() override { fs::remove_all(root_); }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  fs::path root_;
};

TEST_F(PlantedTree, IsRightAsItIs) { EXPECT_THAT(wrong_includes(root_), IsEmpty()); }

TEST_F(PlantedTree, AnUpwardIncludeIsFound) {
  write("core/base/wrong.h", "#pragma once\n\n  #  include \"config/config.h\"\n");
  EXPECT_THAT(wrong_includes(root_), testing::ElementsAre("core/base/wrong.h:3: base may not include config/config.h"));
}

TEST_F(PlantedTree, APluginThatIncludesCoreIsFound) {
  write("plugins/mine/other.cu", "#include \"base/clock.h\"\n");
  EXPECT_THAT(wrong_includes(root_), testing::ElementsAre(HasSubstr("plugins may not include base/clock.h")));
}

TEST_F(PlantedTree, AnIncludeWithoutItsFolderIsFound) {
  write("core/config/keys.cc", "#include \"keys.h\"\n");
  EXPECT_THAT(wrong_includes(root_), testing::ElementsAre(HasSubstr("config may not include keys.h")));
}

TEST_F(PlantedTree, AFolderThatIsNotListedIsFound) {
  write("core/extra/extra.h", "#pragma once\n");
  EXPECT_THAT(wrong_includes(root_), testing::ElementsAre(HasSubstr("does not list its folder extra")));
}

}  // namespace
}  // namespace mgcompare
