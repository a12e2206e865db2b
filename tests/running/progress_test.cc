#include "cli/progress_display.h"

#include "base/number_text.h"
#include "base/text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace mgcompare {
namespace {

std::string text_of(std::FILE* file) {
  std::rewind(file);
  std::string text(1 << 16, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

Trial trial_of(int number, const std::string& name) {
  Trial trial;
  trial.number = number;
  trial.strategy.name = trial.strategy.label = name;
  trial.global_batch = 64;
  return trial;
}

std::string show(const Terminal& terminal, bool quiet, const std::string& name = "first", int wait_ms = 150) {
  std::FILE* file = std::tmpfile();
  {
    const std::vector<Trial> trials = {trial_of(1, name), trial_of(2, "second")};
    ProgressDisplay display(file, terminal, quiet, trials, [](const Trial&) { return 100.0; });
    display.begin(trials[0]);
    display.update({TrialPhase::training, 0, 2, 10, 100, 0.1});
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    display.update({TrialPhase::training, 0, 2, 60, 100, 0.1});
    Result result;
    result.accuracy = 0.98765;
    result.samples_per_second = 12345.6;
    display.end(trials[0], result);
    display.begin(trials[1]);
    result.status = TrialStatus::crashed;
    result.cause = "SIGSEGV in step 3";
    display.end(trials[1], result);
  }
  const std::string text = text_of(file);
  std::fclose(file);
  return text;
}

TEST(Progress, WithoutATerminalOneLineATrialAndNothingElse) {
  const std::string text = show({false, false, false, 80}, false);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_NE(text.find("98.77 %, 12,346 samples/s"), std::string::npos) << text;
  EXPECT_NE(text.find("crashed (SIGSEGV in step 3)"), std::string::npos) << text;
}

TEST(Progress, OnATerminalABarWithSpeedAndTimeLeft) {
  const std::string text = show({true, false, false, 200}, false);
  EXPECT_NE(text.find("\r\x1b[K"), std::string::npos);
  EXPECT_NE(text.find("epoch 1/2"), std::string::npos) << text;
  EXPECT_NE(text.find(" samples/s"), std::string::npos) << text;
  EXPECT_NE(text.find(" left"), std::string::npos) << text;
}

TEST(Progress, ANarrowTerminalNeverWraps) {
  const std::string text = show({true, false, false, 40}, false);
  EXPECT_NE(text.find(" left"), std::string::npos) << text;
  for (std::size_t at = text.find("\r\x1b[K"); at != std::string::npos; at = text.find("\r\x1b[K", at + 1)) {
    const std::string_view line = std::string_view(text).substr(at + 4);
    if (const std::size_t end = line.find_first_of("\r\n"); line.substr(0, end).find("[1/2]") == std::string::npos &&
                                                            line.substr(0, end).find("[2/2]") == std::string::npos) {
      EXPECT_LT(line.substr(0, end).size(), 40u) << line.substr(0, end);
    }
  }
}

// The lines that are redrawn, without those of finished trials.
std::vector<std::string> redrawn(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = text.find("\r\x1b[K"); at != std::string::npos; at = text.find("\r\x1b[K", at + 1)) {
    const std::string line = text.substr(at + 4, text.find_first_of("\r\n", at + 4) - at - 4);
    if (line.find("[1/2]") == std::string::npos && line.find("[2/2]") == std::string::npos) lines.push_back(line);
  }
  return lines;
}

TEST(Progress, WideCharactersNeverWrapOrBreak) {
  for (const std::string name :
       {"\u4e2d\u6587\u4e2d\u6587\u4e2d\u6587\u4e2d\u6587\u4e2d\u6587\u4e2d\u6587", "\U0001f600\U0001f600\U0001f600\U0001f600\U0001f600\U0001f600",
        "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301"}) {
    for (const bool utf8 : {true, false}) {
      for (std::size_t columns = 1; columns < 90; ++columns) {
        for (const std::string& line : redrawn(show({true, false, utf8, columns}, false, name, 0))) {
          EXPECT_LT(width_of(line), columns) << line;
          EXPECT_EQ(line, plain(line)) << "no part of a character";
          EXPECT_EQ(line, utf8 ? line : ascii(line));
        }
      }
    }
  }
}

TEST(Progress, WidthsAreThoseOfTerminals) {
  EXPECT_EQ(width_of("abc"), 3u);
  EXPECT_EQ(width_of("\u4e2d\u6587"), 4u);
  EXPECT_EQ(width_of("\U0001f600"), 2u);
  EXPECT_EQ(width_of("e\u0301"), 1u);
  EXPECT_EQ(width_of("\u2588"), 1u);
  EXPECT_EQ(fitting("a\u4e2d\u6587", 4), "a\u4e2d");
  EXPECT_EQ(fitting("e\u0301x", 1), "e\u0301");
  EXPECT_EQ(fitting("abc", 9), "abc");
}

TEST(Progress, QuietSaysNothing) { EXPECT_EQ(show({true, true, true, 80}, true), ""); }

TEST(Progress, DurationsAndCountsRead) {
  EXPECT_EQ(duration_text(0.04), "0.0 s");
  EXPECT_EQ(duration_text(9.96), "10 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7500), "2 h 5 min");
  EXPECT_EQ(thousands(999), "999");
  EXPECT_EQ(thousands(1234567), "1,234,567");
}

TEST(Progress, ColourIsAskedForOrATerminal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(terminal_of(ends[1], "auto").live);
  EXPECT_FALSE(terminal_of(ends[1], "auto").color);
  EXPECT_TRUE(terminal_of(ends[1], "always").color);
  EXPECT_FALSE(terminal_of(ends[1], "never").color);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace mgcompare
