// What a user meets first: the experiments by their names, and the program without a config.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/command_description.h"
#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class FirstUse : public CommandTest {
 protected:
  // Nothing may be downloaded, and no data of this machine are found.
  std::map<std::string, std::string> bare() const {
    return {{"MGCOMPARE_DATA", ""}, {"XDG_CACHE_HOME", place_.folder().string()}, {"https_proxy", "http://127.0.0.1:1"}};
  }
};

TEST_F(FirstUse, EveryExperimentIsListedWithOneLine) {
  const Ended ended = place_.run({"examples"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  std::size_t configs = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(MGCOMPARE_SOURCE_DIR "/configs"))
    configs += entry.path().extension() == ".yaml" ? 1 : 0;
  EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), static_cast<std::ptrdiff_t>(configs));
  EXPECT_THAT(ended.err, HasSubstr("share/mgcompare/configs\n"));
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 160u) << line;
    EXPECT_GT(line.size(), 40u) << "it has no comment at its top: " << line;
    EXPECT_EQ(line[20], ' ') << line;
  }
  EXPECT_THAT(ended.out, HasSubstr("lenet                LeNet on MNIST: is training on several devices faster, and with which strategy?\n"));
  EXPECT_THAT(place_.run({"examples", "-q"}).out, AllOf(HasSubstr("\nlenet\n"), Not(HasSubstr(" "))));
}

TEST_F(FirstUse, AnExperimentIsRunByItsName) {
  const Ended named = place_.run({"lenet", "--dry-run"}, bare());
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(named.out, place_.run({MGCOMPARE_SOURCE_DIR "/configs/lenet.yaml", "--dry-run"}, bare()).out);
  EXPECT_EQ(place_.run({"-q", "run", "mlp", "--dry-run"}, bare()).code, 0);
  EXPECT_EQ(place_.run({"lenett"}).err, "mgcompare: no command and no config is named 'lenett'; did you mean 'lenet'?\n");
  EXPECT_EQ(place_.run({"verify", "lenett"}).code, 2);
  // A file of the user's comes first.
  place_.write("lenet", small_config("strategies: [serial]\n"));
  EXPECT_EQ(place_.run({"lenet", "--dry-run"}, bare()).out.find("small: "), 0u);
}

TEST_F(FirstUse, WithoutAConfigTheProgramProposesOne) {
  const Ended ended = place_.run({}, bare());
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_LE(std::count(ended.err.begin(), ended.err.end(), '\n'), 12) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("mgcompare lenet --only seed=1 "), HasSubstr("one repeat, about "), HasSubstr("\ncpu: "),
                               HasSubstr("data: none here"), HasSubstr("mgcompare examples")));
  EXPECT_FALSE(place_.has_runs());
  // The command that it proposes is right.
  EXPECT_EQ(place_.run({"lenet", "--only", "seed=1", "--dry-run"}, bare()).code, 0);
}

TEST_F(FirstUse, FoundDataAndGpusAreNamed) {
  place_.use_fake_gpus();
  // Experiments are found beside the program.
  fs::create_directories(place_.folder() / "share");
  fs::create_directory_symlink(fs::path(MGCOMPARE_BINARY_DIR) / "share/mgcompare", place_.folder() / "share/mgcompare");
  fs::create_directories(place_.folder() / "mgcompare/datasets/mnist");
  std::ofstream(place_.folder() / "mgcompare/datasets/mnist/train-images-idx3-ubyte") << "x";
  const Ended ended = place_.run({}, bare());
  EXPECT_THAT(ended.err, AllOf(HasSubstr("\ncuda: 4 x "), HasSubstr("\ndata in " + place_.folder().string()))) << ended.err;
}

TEST_F(FirstUse, WithoutInstalledExperimentsItOnlyAsksForAConfig) {
  place_.use_own_program();
  const Ended ended = place_.run({}, bare());
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("give a config"), Not(HasSubstr("begin with"))));
  EXPECT_EQ(place_.run({"examples"}).code, 4);
}

// With --help at their ends they run nothing, but a command must exist. Their options are those of the help.
TEST_F(FirstUse, EveryCommandHasTwoExamplesWithOptionsThatItHas) {
  for (const CommandDescription& command : all_commands()) {
    EXPECT_EQ(command.examples.size(), 2u) << command.name();
    for (const std::string& example : command.examples) {
      std::istringstream words(example.substr(example.find("mgcompare")));
      std::string word;
      bool is_named = command.name() == "run" || example.find("mgcompare " + command.name()) != std::string::npos;
      EXPECT_TRUE(is_named) << example;
      while (words >> word) {
        if (!word.starts_with("--")) continue;
        const auto has = [&](const OptionDescription& option) { return option.long_name == word; };
        EXPECT_TRUE(std::any_of(command.options.begin(), command.options.end(), has)) << example;
      }
    }
  }
}

}  // namespace
}  // namespace mgcompare
