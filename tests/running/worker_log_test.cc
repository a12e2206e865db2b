#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"
#include "process/worker_log.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

// The folder of a run that is refused before its first trial must be empty.
TEST(WorkerLog, InWhichNothingIsWrittenLeavesNoFile) {
  const TemporaryFolder folder;
  const fs::path file = fs::path(folder.path()) / "worker.log";
  {
    const WorkerLog log(file.string());
    EXPECT_TRUE(fs::exists(file)) << "whether it can be written shows at once";
  }
  EXPECT_FALSE(fs::exists(file));
  {
    WorkerLog log(file.string());
    log.heading("trial 1");
  }
  EXPECT_EQ(fs::file_size(file), 12u);
  {
    const WorkerLog log(file.string());
  }
  EXPECT_TRUE(fs::exists(file)) << "of an earlier session of the run";
}

}  // namespace
}  // namespace mgcompare
