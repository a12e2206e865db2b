// Every exit code of docs/commands.md, with the ways to it that no other test takes.

#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <thread>

#include "cli/command_line.h"
#include "data/npy_files.h"
#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// Whether the process has a handler for the signal.
bool is_caught(pid_t id, int signal) {
  const std::string status = text_of("/proc/" + std::to_string(id) + "/status");
  const std::size_t at = status.find("SigCgt:");
  return at == std::string::npos || (std::stoull(status.substr(at + 7), nullptr, 16) >> (signal - 1) & 1) != 0;
}

class ExitCode : public CommandTest {
 protected:
  std::string config(const std::string& strategies = "[serial]") const {
    return place_.write("fine.yaml", small_config("scaling: {devices: [cpu:1], batch: 64}\nstrategies: " + strategies + "\n"));
  }
};

TEST_F(ExitCode, TheDocumentationHasAllOfThemAndNoOther) {
  const std::string page = text_of(fs::path(MGCOMPARE_SOURCE_DIR) / "docs" / "commands.md");
  std::istringstream lines(page.substr(page.find("## Exit codes")));
  std::set<int> documented;
  for (std::string line; std::getline(lines, line) && !line.starts_with("## Env");) {
    if (!line.starts_with("| ") || !std::isdigit(static_cast<unsigned char>(line[2]))) continue;
    std::istringstream codes(line.substr(2, line.find(" |", 2) - 2));
    for (std::string code; std::getline(codes, code, ',');) documented.insert(std::stoi(code));
  }
  EXPECT_EQ(documented, (std::set<int>{kDone, kProblemFound, kUsage, kSomeFailed, kEnvironment, kInUse, kInternal, 128 + SIGINT, 128 + SIGTERM}));
}

TEST_F(ExitCode, WhatAnExceptionMeans) {
  const auto code_of = [](const auto& error) { return run_printing_errors([&]() -> int { throw error; }); };
  EXPECT_EQ(run_printing_errors([] { return 0; }), 0);
  EXPECT_EQ(run_printing_errors([] { return 3; }), 3);
  EXPECT_EQ(code_of(UsageError("x")), 2);
  EXPECT_EQ(code_of(Error("x")), 4);
  EXPECT_EQ(code_of(fs::filesystem_error("x", "path", std::make_error_code(std::errc::permission_denied))), 4);
  EXPECT_EQ(code_of(std::logic_error("x")), 70);
}

TEST_F(ExitCode, DataThatCannotBeTrainedAreRefusedByAPlanAndBeforeARunHasAFolder) {
  std::vector<float> x(40 * 6, 1.0f);
  x[7 * 6 + 2] = std::numeric_limits<float>::infinity();
  const auto write = [&](const char* name, const std::vector<std::uint8_t>& bytes) { place_.write(name, std::string(bytes.begin(), bytes.end())); };
  write("x.npy", npy("<f4", {40, 6}, x));
  std::vector<std::int64_t> y(40);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int64_t>(i % 2);
  write("y.npy", npy("<i8", {40}, y));
  const std::string file = place_.write("own.yaml", "layers: [dense: 2]\ndata: {set: npy, path: ., validation_samples: 8}\nstrategies: [serial]\n"
                                                    "scaling: {devices: [cpu:1], batch: 8}\nepochs: 1\n");
  for (const std::vector<std::string>& words : {std::vector<std::string>{file, "--dry-run"}, {file, "-o", "refused"}}) {
    const Ended ended = place_.run(words);
    EXPECT_EQ(ended.code, 4) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("x.npy: sample 7 has the value inf at place 2; 1 of the first 40 samples has such values"));
  }
  EXPECT_FALSE(fs::exists(place_.folder() / "refused"));
  std::fill(x.begin(), x.end(), 1.0f);
  write("x.npy", npy("<f4", {40, 6}, x));
  EXPECT_THAT(place_.run({file, "-o", "fine"}).err, HasSubstr("32 training and 8 validation samples\n"));
}

TEST_F(ExitCode, ZeroAndOne) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"devices"}, {"devices", "--json"}, {"config"}, {"config", "--markdown"}, {"plugins"}, {config(), "--dry-run"}})
    EXPECT_EQ(place_.run(words).code, 0) << testing::PrintToString(words);
  EXPECT_EQ(place_.run({"plugins", "check", "fine.yaml"}).code, 1);
  EXPECT_EQ(place_.run({"plugins", "check", "none.so"}).code, 1);
}

TEST_F(ExitCode, TwoIsUsageOrTheConfig) {
  config();
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"report"}, {"predict", "a", "b"}, {"report", "runs/x", "--objective", "luck"}, {"compare", "a"}, {"export", "runs/x"},
           {"predict", "runs/x", "--devices", "many"}, {"predict", "runs/x", "--link", "rope"}, {"verify"}, {"verify", "none.yaml"},
           {"plugins", "new"}, {"plugins", "new", "Upper"}, {"plugins", "new", "tower"}, {"plugins", "other"}, {"config", "colour"},
           {"devices", "--xml"}, {"doctor", "now"}, {"compare", "a", "b", "--fail-on-regression", "lots"}})
    EXPECT_EQ(place_.run(words).code, 2) << testing::PrintToString(words);
  EXPECT_EQ(place_.run({config("[towr]")}).code, 2) << "no plugin has this name";
  EXPECT_FALSE(place_.has_runs());
}

TEST_F(ExitCode, ThreeStaysThree) {
  EXPECT_EQ(place_.run({config("[serial, {misbehave: {how: throw}}]"), "-o", "run"}).code, 3);
  EXPECT_EQ(place_.run({"report", "run"}).code, 3);
  EXPECT_EQ(place_.run({"fine.yaml", "-o", "run", "--resume"}).code, 3);
}

TEST_F(ExitCode, FourIsWhatIsMissing) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"report", "none"}, {"compare", "none", "none"}, {"predict", "none"}, {"export", "none", "--mllog"}, {"replay", "none"}})
    EXPECT_EQ(place_.run(words).code, 4) << testing::PrintToString(words);
  // A folder that cannot be made.
  fs::create_directories(place_.folder() / "run");
  std::ofstream(place_.folder() / "run" / "traces") << "x";
  const Ended traced = place_.run({config(), "-o", "run", "--trace"});
  EXPECT_EQ(traced.code, 4) << traced.err;
  EXPECT_THAT(traced.err, HasSubstr("traces"));
}

TEST_F(ExitCode, LostOutputIsFourWhateverWasFound) {
  const auto code_of = [&](const std::vector<std::string>& words) {
    return place_.run_by_shell(R"("$0" "$@" >/dev/full)", words).code;
  };
  EXPECT_EQ(code_of({"plugins", "check", config()}), 4);
  EXPECT_EQ(code_of({"run", "--help"}), 4);
  EXPECT_EQ(place_.run({config("[serial, {misbehave: {how: throw}}]"), "-o", "run"}).code, 3);
  EXPECT_EQ(code_of({"report", "run"}), 4);
}

TEST_F(ExitCode, AnInterruptedCheckIsInterrupted) {
  Program program = place_.start({"verify", config()});
  while (!is_caught(program.id(), SIGTERM)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait().code, 128 + SIGTERM);
}

}  // namespace
}  // namespace mgcompare
