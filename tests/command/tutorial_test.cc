// The first part of docs/writing-a-strategy.md: runs its commands in their order, with the files that it shows.

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "docs/blocks.h"
#include "rig.h"

namespace mgcompare {
namespace {

// What the test adds to commands, to save time.
const std::map<std::string, std::string> kAdditions = {
    {"cmake -S", " -DMGCOMPARE_CUDA=OFF"},
    {"mgcompare verify", " --quick --set data.set=digits"},
    {"mgcompare first.yaml", " --set data.set=digits --set epochs=1 --set measure.level=quick --set scaling.devices=cpu:2"}};

class Tutorial : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (IsSkipped()) return;
    int number = 0;
    for (const Block& block : blocks_of(MGCOMPARE_SOURCE_DIR "/docs/writing-a-strategy.md")) {
      if (block.section != "From nothing to a curve") continue;
      if (!block.file().empty()) {
        script_ += "cp " + place_.write("block" + std::to_string(++number), block.text) + " " + block.file() + "\n";
      } else if (block.language == "console") {
        add_commands(block);
      }
    }
  }

  void add_commands(const Block& block) {
    std::istringstream lines(block.text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("$ PREFIX=")) {
        script_ += "PREFIX='" MGCOMPARE_BINARY_DIR "'\n";
      } else if (line.starts_with("$ ")) {
        std::string command = line.substr(2);
        for (const auto& [begin, addition] : kAdditions) {
          if (!command.starts_with(begin)) continue;
          command += addition;
          ++added_;
        }
        script_ += command + "\n";
      } else if (line.find_first_of("0123456789") == std::string::npos && line != "...") {
        output_.push_back(line);  // figures differ from run to run
      }
    }
  }

  std::string script_ = "set -ex\nunset MGCOMPARE_PLUGIN_PATH\n";
  std::vector<std::string> output_;
  std::size_t added_ = 0;
};

TEST_F(Tutorial, ItsCommandsWorkAndPrintWhatItShows) {
  ASSERT_EQ(added_, kAdditions.size()) << script_;
  const Ended ended = place_.run_by_shell(script_, {});
  ASSERT_EQ(ended.code, 0) << ended.err << ended.out;
  EXPECT_GE(output_.size(), 3u);
  for (const std::string& line : output_) EXPECT_NE(ended.out.find(line + "\n"), std::string::npos) << line << "\n" << ended.out;

  const auto run = place_.only_run();
  for (const Row& row : run.rows) EXPECT_EQ(row.result.status, TrialStatus::done) << row.result.cause;
  EXPECT_GT(row_of(run, "my_local_sgd").result.bytes_per_step, 0);
  EXPECT_LT(row_of(run, "my_local_sgd").result.bytes_per_step, row_of(run, "my_local_sgd every 2").result.bytes_per_step);
  EXPECT_TRUE(std::filesystem::exists(run.directory + "/report.html"));
}

}  // namespace
}  // namespace mgcompare
