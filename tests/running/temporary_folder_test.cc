#include "base/temporary_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "mgcompare/error.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

class Temporary : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* old = std::getenv("TMPDIR")) before_ = old;
    parent_ = own_.path() + "/parent";
    fs::create_directory(parent_);
    setenv("TMPDIR", parent_.c_str(), 1);
  }
  void TearDown() override { before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1); }

  static void age(const fs::path& folder) {
    fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::hours(48));
  }
  fs::path abandoned(const std::string& name) const {
    const fs::path folder = fs::path(parent_) / name;
    fs::create_directory(folder);
    fs::permissions(folder, fs::perms::owner_all);
    std::ofstream(folder / "file") << "left";
    age(folder);
    return folder;
  }

  TemporaryFolder own_;
  std::string parent_, before_;
};

TEST_F(Temporary, IsPrivateAndEndsWithItsOwner) {
  std::string path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    EXPECT_EQ(fs::path(path).parent_path(), parent_);
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    std::ofstream(path + "/file") << "content";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Temporary, RemovesOldOnesOfEndedProcessesOnly) {
  const fs::path ended = abandoned("mgcompare-scratch-abcdef"), results = abandoned("mgcompare-scratch-results"),
                 shared = abandoned("mgcompare-scratch-ghijkl"), link = fs::path(parent_) / "mgcompare-scratch-linked";
  fs::permissions(shared, fs::perms::group_read, fs::perm_options::add);
  age(shared);
  const TemporaryFolder in_use;
  age(in_use.path());
  const fs::path young = fs::path(parent_) / "mgcompare-scratch-recent";
  fs::create_directory(young);
  fs::permissions(young, fs::perms::owner_all);
  fs::create_directory_symlink(results, link);
  const TemporaryFolder next;
  EXPECT_FALSE(fs::exists(ended));
  EXPECT_TRUE(fs::exists(results / "file")) << "not a name of the program's own";
  EXPECT_TRUE(fs::exists(shared / "file"));
  EXPECT_TRUE(fs::exists(link));
  EXPECT_TRUE(fs::exists(young)) << "may belong to a program that does not lock it";
  EXPECT_TRUE(fs::exists(in_use.path()));
}

}  // namespace
}  // namespace mgcompare
