#include "base/atomic_file.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/sha256.h"
#include "data/files.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string write_text(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

TEST(AtomicFile, ReplacesOnlyByCommit) {
  const Folder folder;
  const std::string path = write_text(folder.path("a"), "old");
  {
    AtomicFile file(path);
    file.write("half");
    file.flush();
    EXPECT_EQ(content(path), "old");
    EXPECT_EQ(content(file.temporary_path()), "half");
  }
  EXPECT_EQ(content(path), "old");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  const std::string large(1 << 20, 'x');
  AtomicFile file(path);
  file.write("new ");
  file.write(large);
  file.commit();
  EXPECT_EQ(content(path), "new " + large);
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(AtomicFile, DoesNotFollowALinkInPlaceOfItsTemporaryFile) {
  const Folder folder;
  const std::string precious = write_text(folder.path("precious"), "precious");
  std::filesystem::create_symlink(precious, folder.path("a.tmp"));
  write_atomically(folder.path("a"), "new");
  EXPECT_EQ(content(precious), "precious");
  EXPECT_EQ(content(folder.path("a")), "new");
}

TEST(AtomicFile, NamesPathAndReason) {
  const Folder folder;
  const std::string path = write_text(folder.path("a"), "old");
  std::filesystem::create_directory(path + ".tmp");
  EXPECT_THAT([&] { write_atomically(path, "new"); },
              testing::ThrowsMessage<FileError>(HasSubstr(path + ": cannot be written: File exists")));
  EXPECT_EQ(content(path), "old");
  EXPECT_THAT([&] { write_atomically(folder.path("absent/a"), "new"); },
              testing::ThrowsMessage<FileError>(HasSubstr("absent/a: cannot be written: No such file")));
}

TEST(Directory, FollowsNoLinkInItself) {
  const Folder folder;
  std::filesystem::create_directories(folder.path("outside"));
  std::filesystem::create_directories(folder.path("run"));
  std::filesystem::create_directory_symlink(folder.path("outside"), folder.path("run/records"));
  std::filesystem::create_symlink(folder.path("outside/log"), folder.path("run/log"));
  const auto is_refused = testing::ThrowsMessage<FileError>(HasSubstr("it is a symbolic link"));
  EXPECT_THAT([&] { write_in_subfolder(folder.path("run/records/trial-1"), "new"); }, is_refused);
  EXPECT_THAT([&] { Directory(folder.path("run")).append("log"); }, is_refused);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("outside")));
  // The user names the folder itself.
  std::filesystem::create_directory_symlink(folder.path("run"), folder.path("latest"));
  write_in_subfolder(folder.path("latest/traces/trial-1"), "new");
  EXPECT_EQ(content(folder.path("run/traces/trial-1")), "new");
}

// Another folder takes the path while the file is written.
TEST(Directory, IsTheOneThatWasOpened) {
  const Folder folder;
  std::filesystem::create_directories(folder.path("run"));
  AtomicFile file(folder.path("run/a"));
  file.write("new");
  std::filesystem::rename(folder.path("run"), folder.path("moved"));
  std::filesystem::create_directories(folder.path("run"));
  file.commit();
  EXPECT_EQ(content(folder.path("moved/a")), "new");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("run")));
}

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 hash;
  hash.add("a", 1);
  hash.add("bc", 2);
  EXPECT_EQ(hash.digest(), sha256("abc"));
  const Folder folder;
  EXPECT_EQ(sha256_of_file(write_text(folder.path("a"), "abc")), sha256("abc"));
  EXPECT_EQ(sha256_of_file(folder.path("absent")), "");
}

}  // namespace
}  // namespace mgcompare
