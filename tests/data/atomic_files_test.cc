#include "base/atomic_files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/atomic_file.h"
#include "data/files.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

class AtomicFiles : public testing::Test {
 protected:
  // All files of the folder with their content.
  std::map<std::string, std::string> content() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.is_directory()) all[entry.path().filename()] = "";
      if (entry.is_directory()) continue;
      std::ifstream stream(entry.path());
      all[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(stream), {});
    }
    return all;
  }

  const Folder scratch_;
  const fs::path folder_ = scratch_.path();
};

TEST_F(AtomicFiles, ReplacesAllAtTheEnd) {
  write_all_atomically(Directory(folder_), [](const AddFile& add) { add("a", "old"); });
  write_all_atomically(Directory(folder_), [&](const AddFile& add) {
    add("a", "new");
    EXPECT_EQ(content().at("a"), "old");
    add("b", std::string(100'000, 'x'));
    add("c", "");
  });
  EXPECT_EQ(content(), (std::map<std::string, std::string>{{"a", "new"}, {"b", std::string(100'000, 'x')}, {"c", ""}}));
}

TEST_F(AtomicFiles, KeepsTheOldOnesIfTheWriterFails) {
  write_all_atomically(Directory(folder_), [](const AddFile& add) { add("a", "old"); });
  EXPECT_THROW(write_all_atomically(Directory(folder_), [](const AddFile& add) {
                 add("a", "new");
                 throw Error("no more");
               }),
               Error);
  EXPECT_EQ(content(), (std::map<std::string, std::string>{{"a", "old"}}));
}

TEST_F(AtomicFiles, NamesWhatCannotBeWritten) {
  EXPECT_THROW(write_all_atomically(Directory(folder_ / "nowhere"), [](const AddFile& add) { add("a", "x"); }), FileError);
  fs::create_directory(folder_ / "a");
  try {
    write_all_atomically(Directory(folder_), [](const AddFile& add) { add("a", "x"); });
    FAIL();
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("/a: cannot be written"), std::string::npos) << error.what();
  }
  EXPECT_EQ(content().size(), 1u) << "no temporary file is left";
}

// A sync takes milliseconds on a disk. Ten thousand files were 15 to 20 s with one for each.
TEST_F(AtomicFiles, SyncsOnce) {
  const auto seconds = [](const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  constexpr int kFiles = 300;
  const double each = seconds([&] {
    for (int i = 0; i < kFiles; ++i) write_atomically(folder_ / std::to_string(i), "text");
  });
  const double together = seconds([&] {
    write_all_atomically(Directory(folder_), [](const AddFile& add) {
      for (int i = 0; i < kFiles; ++i) add(std::to_string(i), "text");
    });
  });
  if (each < 0.1) GTEST_SKIP() << "a sync costs nothing here";
  EXPECT_LT(together, each);
}

}  // namespace
}  // namespace mgcompare
