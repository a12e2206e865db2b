// backend.json is a foreign file: what is wrong with it is a sentence, and nothing of it runs before it is right.

#include "discovery/manifest.h"
#include "discovery/plugin_checksum.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "discovery/plugin_files.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Manifests : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mgcompareXXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = fs::path(pattern) / "mine";
    fs::create_directory(folder_);
    write("b.py", "");
  }
  void TearDown() override { fs::remove_all(folder_.parent_path()); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary | std::ios::trunc) << text;
    return (folder_ / name).string();
  }
  std::string problem_of(const std::string& text) const { return inspect_plugin(write("backend.json", text)).problem; }
  fs::path folder_;
};

constexpr char kGood[] = R"({"protocol": 1, "name": "mine", "description": "a test", "python": "b.py"})";

TEST_F(Manifests, AreListedWithStrategies) {
  write("backend.json", kGood);
  for (const fs::path& place : {folder_, folder_.parent_path(), folder_ / "backend.json"}) {
    const auto plugins = find_plugins({place.string()});
    const auto found = std::find_if(plugins.begin(), plugins.end(), [](const PluginSummary& plugin) { return plugin.name == "mine"; });
    ASSERT_NE(found, plugins.end()) << place;
    EXPECT_EQ(found->problem, "");
    EXPECT_EQ(found->description, "a test");
    EXPECT_FALSE(found->is_own);
    EXPECT_TRUE(is_backend(found->file));
  }
  EXPECT_FALSE(is_backend("/x/strategy_backend.so"));
  EXPECT_EQ(read_manifest((folder_ / "backend.json").string()).program, (folder_ / "b.py").string());
}

TEST_F(Manifests, SayWhatIsWrong) {
  EXPECT_THAT(problem_of(""), HasSubstr("backend.json is not a JSON object"));
  EXPECT_THAT(problem_of("[1]"), HasSubstr("is not a JSON object"));
  EXPECT_THAT(problem_of(std::string(100000, ' ')), HasSubstr("is larger than 64 KiB"));
  EXPECT_THAT(problem_of(std::string(1000, '[')), HasSubstr("is not a JSON object"));
  EXPECT_THAT(problem_of(R"({"name": "mine", "description": "a", "python": "b.py"})"), HasSubstr("does not say which `protocol`"));
  EXPECT_THAT(problem_of(R"({"protocol": 2, "name": "mine", "description": "a", "python": "b.py"})"), HasSubstr("version 2 of the protocol"));
  EXPECT_THAT(problem_of(R"({"protocol": 1, "name": "mine", "description": "a", "python": "b.py", "run": 1})"), HasSubstr("unknown key 'run'"));
  EXPECT_THAT(problem_of(R"({"protocol": 1, "name": "mine", "description": "a"})"), HasSubstr("must name either"));
  EXPECT_THAT(problem_of(R"({"protocol": 1, "name": "a b", "description": "a", "python": "b.py"})"), HasSubstr("which no config can name"));
  EXPECT_THAT(problem_of(R"({"protocol": 1, "name": 3, "description": "a", "python": "b.py"})"), HasSubstr("value of 'name'"));
  EXPECT_THAT(problem_of(R"({"protocol": 1, "name": "mine", "description": "a", "python": "../b.py"})"), HasSubstr("without a path"));
  EXPECT_THAT(problem_of(R"({"protocol": 1, "name": "mine", "description": "a", "python": "c.py"})"), HasSubstr("is not a file in its folder"));
  EXPECT_THAT(problem_of(R"({"protocol": 1, "name": "mine", "description": "a", "program": "b.py"})"), HasSubstr("is not executable"));
}

TEST_F(Manifests, WhichEveryUserCanChangeAreRefused) {
  write("backend.json", kGood);
  const std::string file = (folder_ / "backend.json").string();
  ASSERT_EQ(chmod((folder_ / "b.py").c_str(), 0666), 0);
  EXPECT_THAT(inspect_plugin(file).problem, HasSubstr("every user of this machine can change it"));
  ASSERT_EQ(chmod((folder_ / "b.py").c_str(), 0644), 0);
  ASSERT_EQ(chmod(file.c_str(), 0666), 0);
  EXPECT_THAT(inspect_plugin(file).problem, HasSubstr("every user of this machine can change it"));
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  EXPECT_THAT(inspect_plugin(file).problem, HasSubstr("every user of this machine can replace it"));
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  EXPECT_EQ(inspect_plugin(file).problem, "");
}

// Python runs them like the program itself.
TEST_F(Manifests, WithModulesThatEveryUserCanChangeAreRefused) {
  const std::string file = write("backend.json", kGood);
  write("helper.py", "");
  ASSERT_EQ(chmod((folder_ / "helper.py").c_str(), 0666), 0);
  EXPECT_THAT(inspect_plugin(file).problem, HasSubstr("helper.py, which is not used, because every user of this machine can change it; run: chmod o-w "));
  ASSERT_EQ(chmod((folder_ / "helper.py").c_str(), 0644), 0);
  fs::create_directory(folder_ / "__pycache__");
  ASSERT_EQ(chmod((folder_ / "__pycache__").c_str(), 01777), 0);
  EXPECT_THAT(inspect_plugin(file).problem, HasSubstr("__pycache__, to which every user of this machine can write; run: chmod o-w "));
  ASSERT_EQ(chmod((folder_ / "__pycache__").c_str(), 0755), 0);
  const std::string compiled = write("__pycache__/helper.cpython-311.pyc", "");
  ASSERT_EQ(chmod(compiled.c_str(), 0666), 0);
  EXPECT_THAT(inspect_plugin(file).problem, HasSubstr("helper.cpython-311.pyc, which is not used"));
  ASSERT_EQ(chmod(compiled.c_str(), 0644), 0);
  EXPECT_EQ(inspect_plugin(file).problem, "");
}

TEST_F(Manifests, ThatBlockOrDoNotExistAreRefused) {
  ASSERT_EQ(mkfifo((folder_ / "backend.json").c_str(), 0600), 0);
  EXPECT_THAT(inspect_plugin((folder_ / "backend.json").string()).problem, HasSubstr("is not a regular file"));
  fs::remove(folder_ / "backend.json");
  EXPECT_THAT(inspect_plugin((folder_ / "backend.json").string()).problem, HasSubstr("does not exist"));
}

TEST_F(Manifests, TheChecksumIsThatOfManifestAndProgram) {
  const std::string file = write("backend.json", kGood), first = checksum_of_plugin(file);
  EXPECT_EQ(first.size(), 64u);
  EXPECT_EQ(checksum_of_plugin(file), first);
  write("module.py", "one");
  const std::string second = checksum_of_plugin(file);
  EXPECT_NE(second, first);
  write("notes.txt", "not read");
  EXPECT_EQ(checksum_of_plugin(file), second);
  write("b.py", "pass");
  EXPECT_NE(checksum_of_plugin(file), second);
  fs::remove(folder_ / "b.py");
  EXPECT_EQ(checksum_of_plugin(file), "");
}

}  // namespace
}  // namespace mgcompare
