// What the run prints is already on disk.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "cli/run_command.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

// Looks into the results whenever something is printed.
struct Observer {
  std::string directory;
  int lines = 0, recorded = 0;

  static ssize_t print(void* self, const char*, std::size_t size) {
    auto& observer = *static_cast<Observer*>(self);
    ++observer.lines;
    for (const Row& row : read_run(observer.directory).rows) observer.recorded += row.state == RowState::finished ? 1 : 0;
    return static_cast<ssize_t>(size);
  }
};

TEST(RunTrial, PrintsATrialAfterItIsRecorded) {
  const fs::path directory = fs::path(testing::TempDir()) / ("commit." + std::to_string(getpid()));
  fs::create_directories(directory);
  Trial trial;
  trial.global_batch = 64;
  trial.number = 1;
  trial.strategy.name = trial.strategy.label = "absent";
  trial.unavailable = "asked 8, have 2";
  trial.config.name = trial.config.model.name = "small";
  trial.config.model.layers.resize(1);
  trial.config.model.layers[0].type = LayerType::flatten;
  trial.config.model.layers[0].name = "flatten1";
  trial.config.strategies = {trial.strategy};
  Observer observer{directory.string()};
  {
    std::FILE* const stream = fopencookie(&observer, "w", {nullptr, Observer::print, nullptr, nullptr});
    ASSERT_NE(stream, nullptr);
    ResultsStore results(directory.string());
    results.begin({}, {trial});
    Supervisor supervisor({});
    DeviceAvailability availability({});
    FittingBatch fitting;
    ProgressDisplay display(stream, {}, false, {trial}, [](const Trial&) { return 1.0; });
    HostTrials hosts({}, {});
    run_trial(results, supervisor, hosts, availability, fitting, trial, directory.string(), {}, display);
    std::fclose(stream);
  }
  EXPECT_EQ(observer.lines, 1);
  EXPECT_EQ(observer.recorded, observer.lines);
  fs::remove_all(directory);
}

}  // namespace
}  // namespace mgcompare
