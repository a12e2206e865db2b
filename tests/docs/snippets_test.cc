// Compiles every C++ block of the documentation. docs/writing-a-strategy.md states the rule: a block with an #include is a
// whole file; any other replaces the line "// the block" of the class that the page shows at its beginning.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "docs/blocks.h"
#include "docs/pages.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

constexpr char kPlace[] = "  // the block\n";

bool is_whole_file(const Block& block) { return block.text.find("#include") != std::string::npos; }

std::vector<fs::path> pages_with_code() {
  std::vector<fs::path> all = {kRoot / "README.md", kRoot / "CONTRIBUTING.md"};
  for (const char* folder : {"docs", "plugins", "reports"})
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
      if (entry.path().extension() == ".md") all.push_back(entry.path());
  return all;
}

// The class around blocks that are no whole files: the #includes, and the rest.
struct Frame {
  std::string includes, before, after;
};

Frame frame() {
  for (const Block& block : blocks_of(kRoot / "docs/writing-a-strategy.md")) {
    const std::size_t place = block.text.find(kPlace), code = block.text.find("using namespace");
    if (place == std::string::npos || code == std::string::npos) continue;
    return {block.text.substr(0, code), block.text.substr(code, place - code), block.text.substr(place + sizeof(kPlace) - 1)};
  }
  ADD_FAILURE() << "the page does not show the class around its blocks";
  return {};
}

// Translation units for a compiler, in a folder of their own.
class Sources {
 public:
  explicit Sources(const std::vector<fs::path>& pages) : folder_(fs::path(testing::TempDir()) / fmt::format("mgcompare-snippets-{}", getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const Frame around = frame();
    std::string parts = around.includes;
    for (const fs::path& page : pages) {
      for (const Block& block : blocks_of(page)) {
        if (block.language != "cpp") continue;
        const std::string code = fmt::format("#line {} \"{}\"\n{}", block.line, page.lexically_proximate(kRoot).string(), block.text);
        if (is_whole_file(block)) write(code);
        else parts += fmt::format("namespace part_{} {{\n{}{}{}}}\n", ++parts_, around.before, code, around.after);
      }
    }
    write(parts);
  }
  ~Sources() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  int parts() const { return parts_; }
  int files() const { return files_ - 1; }  // one contains the parts

  // Runs the command on all files. Returns what it printed, empty if it succeeded.
  std::string compile(const std::string& command) const {
    const fs::path log = folder_ / "log";
    const std::string words = fmt::format("cd '{}' && {} -I'{}/core/include' -I'{}/include' *.cc >log 2>&1", folder_.string(), command,
                                          MGCOMPARE_SOURCE_DIR, MGCOMPARE_BINARY_DIR);
    if (std::system(words.c_str()) == 0) return "";
    std::ifstream file(log);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  void write(const std::string& code) { std::ofstream(folder_ / fmt::format("{}.cc", ++files_)) << code; }

  fs::path folder_;
  int parts_ = 0, files_ = 0;
};

constexpr char kCompiler[] = MGCOMPARE_CXX " -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror";

TEST(Snippets, Compile) {
  const Sources sources(pages_with_code());
  EXPECT_EQ(sources.compile(kCompiler), "");
  EXPECT_GE(sources.parts(), 10);
  EXPECT_GE(sources.files(), 3);
}

// A method that does not exist, a missing semicolon and a variable that is not declared, in both kinds of blocks.
TEST(Snippets, AFaultIsFoundWithItsPlace) {
  const fs::path page = fs::path(testing::TempDir()) / fmt::format("mgcompare-faults-{}.md", getpid());
  std::ofstream(page) << "# Faults\n```cpp\nvoid rest(Replica& replica, Group&) override { replica.renew(); }\n```\n"
                         "```cpp\n#include \"mgcompare/strategy.h\"\nint one = 1\n```\n```\nnot = code\n```\n";
  const Sources sources({page});
  fs::remove(page);
  const std::string said = sources.compile(kCompiler);
  EXPECT_NE(said.find(".md:3:"), std::string::npos) << said;
  EXPECT_NE(said.find("renew"), std::string::npos) << said;
  EXPECT_NE(said.find(".md:7:"), std::string::npos) << said;
}

// The same by nvcc, for GPUs.
TEST(LongSnippets, CompileForGpus) {
  const std::string find = "PATH=$PATH:/usr/local/cuda/bin; ";
  if (std::system((find + "command -v nvcc >/dev/null").c_str()) != 0) GTEST_SKIP() << "there is no nvcc";
  const Sources sources(pages_with_code());
  EXPECT_EQ(sources.compile(find + "nvcc -x cu -std=c++20 --extended-lambda --expt-relaxed-constexpr -arch=sm_90 -dc"), "");
}

}  // namespace
}  // namespace mgcompare
