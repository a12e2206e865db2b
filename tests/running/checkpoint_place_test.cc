// What is in the place of a checkpoint when one is written.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"
#include "runtime/checkpoint.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMost = 1 << 20;

TEST(CheckpointPlace, ADirectoryMakesRoomAndKeepsItsFiles) {
  const TemporaryFolder run;
  const fs::path folder = fs::path(run.path()) / "checkpoints", file = folder / "trial-1";
  const Checkpoint checkpoint{"of a test", {{"epochs", 1}}, {{{"a", {1, 2}}}}};
  fs::create_directories(file);
  ASSERT_TRUE(write_checkpoint(file, checkpoint, kMost));
  EXPECT_EQ(read_checkpoint(file, kMost).identity, "of a test");
  for (const int number : {1, 2}) {
    fs::remove(file);
    fs::create_directories(file);
    std::ofstream(file / "notes") << number;
    ASSERT_TRUE(write_checkpoint(file, checkpoint, kMost));
    EXPECT_EQ(read_checkpoint(file, kMost).identity, "of a test");
    EXPECT_TRUE(fs::exists(folder / ("trial-1.directory" + std::to_string(number)) / "notes"));
  }
}

}  // namespace
}  // namespace mgcompare
