// Time and memory limits for the report of a large run.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "results/sqlite.h"
#include "reports/report.h"
#include "results/large_run.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

constexpr double kMostMegabytes = 200;
constexpr double kMostParsings = 3.2;

struct Cost {
  double seconds = 0;               // processor time
  double megabytes = 0;             // peak
};

// In a separate process, which starts with little memory.
template <class F>
Cost cost_of(const F& work) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      work();
      _exit(0);
    } catch (...) {
      _exit(1);
    }
  }
  int status = 0;
  rusage usage{};
  EXPECT_EQ(wait4(child, &status, 0, &usage), child);
  EXPECT_EQ(status, 0);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<double>(usage.ru_maxrss) / 1e3};
}

class LargeReport : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
    GTEST_SKIP() << "the cost of an instrumented program says nothing";
#endif
  }
  void make(const std::string& run, std::size_t rows) const {
    std::filesystem::create_directory(folder_.path(run));
    cost_of([&] { make_large_run(folder_.path(run), rows); });
    const Database database(folder_.path(run + "/" + kResultsFile), Database::Mode::read);
    EXPECT_EQ(database.integer("SELECT count(*) FROM trial WHERE state = 'finished'"), static_cast<std::int64_t>(rows));
  }
  Cost cost_of_report(const std::string& run) const {
    return cost_of([&] { write_reports(read_run(folder_.path(run)), folder_.path(run)); });
  }

  static constexpr char kLarge[] = "large";
  // Seconds for parsing all of its results once. They are parsed three times, which takes as long as a report.
  double seconds_of_parsing() const {
    constexpr int kTimes = 3;
    const Cost cost = cost_of([&] {
      const Database database(folder_.path(kLarge) + "/" + kResultsFile, Database::Mode::read);
      std::size_t size = 0;
      for (int time = 0; time < kTimes; ++time)
        for (std::size_t number = 1; number <= kLargeRows; ++number)
          size += nlohmann::json::parse(database.text("SELECT result_json FROM trial WHERE number = " + std::to_string(number))).size();
      if (size == 0) _exit(1);
    });
    return cost.seconds / kTimes;
  }

 private:
  Folder folder_;
};
using LongLargeReport = LargeReport;
using LongReportMemory = LargeReport;

// Of each row once and twice: with as much for each further repeat, ten repeats stay within the limit.
TEST_F(LargeReport, GrowsToUnderTwoHundredMegabytes) {
  constexpr std::size_t kFew = 1000, kMore = 2000;
  make("few", kFew), make("more", kMore);
  const double few = cost_of_report("few").megabytes, more = cost_of_report("more").megabytes;
  EXPECT_GT(more, few);
  EXPECT_LT(few + (more - few) / (kMore - kFew) * (kLargeRows - kFew), kMostMegabytes);
}

TEST_F(LongReportMemory, IsUnderTwoHundredMegabytes) {
  make(kLarge, kLargeRows);
  EXPECT_LT(cost_of_report(kLarge).megabytes, kMostMegabytes);
}

// Processor time relative to that for parsing the stored results, which removes the speed of the machine. Other programs slow
// both down, by caches and shared cores: so each report is compared with the parsing just before and after it, and the
// attempt that they disturb least counts.
TEST_F(LongLargeReport, CostsAFewTimesTheParsingOfItsResults) {
  make(kLarge, kLargeRows);
  double least = 1e9, before = seconds_of_parsing();
  for (int attempt = 0; attempt < 5 && least >= kMostParsings; ++attempt) {
    const double report = cost_of_report(kLarge).seconds, after = seconds_of_parsing();
    least = std::min(least, 2 * report / (before + after));
    std::cout << report << " s for the report, " << before << " and " << after << " s for parsing" << std::endl;
    before = after;
  }
  EXPECT_LT(least, kMostParsings);
}

}  // namespace
}  // namespace mgcompare
