#include "reports/summary.h"

#include <gmock/gmock.h>

#include "reports/findings.h"
#include "reports/markdown.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Summary, SaysWhoWonByHowMuchAndHowSurely) {
  const std::string text = closing_summary(three_by_three(), {});
  EXPECT_THAT(
      text,
      StartsWith(
          "Several devices are faster: at best 1.60 [1.60 .. 1.60] times as fast to 97 % as alone on 1 CPU core, batch 128, "
          "by together on 2 CPU cores, batch 128\n"
          "together on 2 CPU cores, batch 128 reached 97 % in 4.95 s [4.90 s .. 5.00 s]\n"
          "    1.60 [1.60 .. 1.60] times as fast as alone on 1 CPU core, batch 128 (throughput alone: 1.60x)\n"));
  EXPECT_THAT(text, HasSubstr("Why not 2x: 25 % of its time is exchange, 14 % waiting"));
  EXPECT_THAT(text, HasSubstr("apart trains separate models"));
  EXPECT_THAT(text, Not(HasSubstr("undecided")));
  EXPECT_THAT(text, Not(HasSubstr("not completed")));
}

TEST(Summary, HasATableOfAllRows) {
  const std::string text = closing_summary(three_by_three(), {});
  EXPECT_THAT(text, HasSubstr("  strategy  devices  batch  accuracy  to 97 %  samples/s  speed-up  efficiency\n"));
  EXPECT_THAT(text, HasSubstr("  together  cpu:2      128    0.9840   4.95 s      1,616     1.60x        80 %\n"));
  EXPECT_THAT(text, HasSubstr("  apart     cpu:2      128  0.9700 *        -      1,919     1.90x        95 %\n"));
}

// Two rows that were measured too rarely to differ do not count as equal, and what is still to run comes before more repeats.
TEST(Summary, TooFewRepeatsShowNoEqualRowOnFewerDevices) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    maker.baseline(seed, make_result(1000, 8, 0.98));
    maker.add("together", 2, seed, make_result(1300, 6, 0.98));
  }
  EXPECT_THAT(closing_summary(maker.run, {}), AllOf(Not(HasSubstr("Fewest devices")), HasSubstr("What to do: repeat more before choosing")));
  maker.add("together", 2, 3, make_result(1300, 6, 0.98));
  maker.run.rows.back().state = RowState::pending;
  EXPECT_THAT(closing_summary(maker.run, {}), HasSubstr("What to do: finish the run before choosing (--resume)"));
}

TEST(Summary, CallsASingleRepeatUndecided) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  maker.add("together", 2, 1, make_result(1600, 5, 0.98));
  EXPECT_THAT(closing_summary(maker.run, {}),
              HasSubstr("1.60 times as fast as alone on 1 CPU core, batch 128; undecided: fewer than three repeats"));
}

TEST(Summary, CallsOverlappingRepeatsUndecidedAndNamesTheCheaper) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double noise = seed == 1 ? 1 : 1.2;
    maker.baseline(seed, make_result(1000, 8, 0.98));
    maker.add("together", 4, seed, make_result(1600, 5 * noise, 0.98));
    maker.add("other", 2, seed, make_result(1600, 5.2 * noise, 0.98));
  }
  const std::string text = closing_summary(maker.run, {});
  EXPECT_THAT(
      text,
      HasSubstr(
          "1.04 [1.04 .. 1.04] times as fast as other on 2 CPU cores, batch 128; undecided: their ranges overlap (seed by seed one row is ahead, but its worst "
          "repeat is no better than the other's best)\n"));
  EXPECT_THAT(text, HasSubstr("Fewest devices without a significant difference: other on 2 CPU cores"));
}

TEST(Summary, SaysWhyRowsCannotBeToldApart) {
  const auto summary = [](const std::vector<double>& one, const std::vector<double>& other) {
    RunMaker maker;
    for (std::size_t i = 0; i < one.size(); ++i) {
      maker.add("together", 2, i + 1, make_result(1000, one[i], 0.98));
      maker.add("other", 2, i + 1, make_result(1000, other[i], 0.98));
    }
    return closing_summary(maker.run, {});
  };
  EXPECT_THAT(summary({5, 5.01, 5.02}, {5.04, 5.05, 5.06}), HasSubstr("; undecided: their medians differ by 2 % or less\n"));
  // Seed by seed 0.90, 0.84 and 1.50, but the medians are 10 and 10.1.
  EXPECT_THAT(summary({10, 12, 8}, {9, 10.1, 12}),
              AllOf(HasSubstr("0.90 [0.84 .. 1.50] times as fast"),
                    HasSubstr("; undecided: their medians differ by 2 % or less (the factor is the median of the ratios seed by seed)\n")));
  EXPECT_THAT(summary({68.3, 70, 75.7}, {75.8, 78, 94.2}),
              HasSubstr("; undecided: the gap between their ranges is less than a third of the wider range\n"));
  EXPECT_THAT(summary({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5}),
              HasSubstr("; undecided: the rank test finds no significant difference (seed by seed one row is ahead, but the seeds differ more than the rows)\n"));
  EXPECT_THAT(summary({68, 69, 70}, {78, 79, 80}), Not(HasSubstr("undecided")));
}

// Nine repeats each. The test alone finds a difference; among twenty rivals such a pair is to be expected by chance.
TEST(Summary, RivalsShareTheRiskOfAWrongAnswer) {
  const auto summary = [](std::size_t rivals) {
    RunMaker maker;
    for (std::uint64_t seed = 1; seed <= 9; ++seed) {
      const double second = static_cast<double>(seed);
      maker.add("together", 2, seed, make_result(1000, second, 0.98));
      for (std::size_t i = 0; i < rivals; ++i)
        maker.add("other" + std::to_string(i), 2, seed, make_result(1000, second + 4.5, 0.98));
    }
    return closing_summary(maker.run, {});
  };
  EXPECT_THAT(summary(1), Not(HasSubstr("undecided")));
  EXPECT_THAT(summary(20), HasSubstr("as fast as other0 on 2 CPU cores, batch 128; undecided: the rank test"));
}

// What the medians say stands there, with what it lacks.
TEST(Summary, AnOpenAnswerSaysWhatWasSeen) {
  const auto first_line = [](double alone, double together, std::uint64_t repeats, double spread) {
    RunMaker maker;
    for (std::uint64_t seed = 1; seed <= repeats; ++seed) {
      const double factor = 1 + spread * static_cast<double>(seed - 1);
      maker.baseline(seed, make_result(alone * factor, 0, 0.98));
      maker.add("together", 2, seed, make_result(together / factor, 0, 0.98));
    }
    const std::string text = closing_summary(maker.run, {}, Objective::throughput);
    return text.substr(0, text.find('\n'));
  };
  EXPECT_THAT(first_line(1000, 900, 2, 0), AllOf(StartsWith("No gain seen: at best 0.90 "), EndsWith(" (two repeats; at least three are needed to decide)")));
  EXPECT_THAT(first_line(1000, 1010, 1, 0), StartsWith("No gain seen: at best 1.01 times the samples/s of"));
  EXPECT_THAT(first_line(1000, 1300, 1, 0),
              AllOf(StartsWith("A gain is seen, but not confirmed: at best 1.30 "), EndsWith(" (one repeat; at least three are needed to decide)")));
  EXPECT_THAT(first_line(1000, 1300, 3, 0.1), AllOf(StartsWith("Whether several devices pay is undecided: at best 1.07 [0.90 .. 1.30]"),
                                                    EndsWith("; their ranges overlap, and the machine's speed changed by +10 %")));
  EXPECT_THAT(first_line(1000, 1300, 3, 0), AllOf(StartsWith("Several devices are faster: at best 1.30"), Not(HasSubstr("undecided"))));
}

TEST(Summary, SaysWhenTheBaselineWins) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 5, 0.98));
  maker.add("together", 2, 1, make_result(900, 8, 0.98));
  const std::string text = closing_summary(maker.run, {});
  EXPECT_THAT(text, StartsWith("No gain seen: at best 0.62 times as fast to 97 % as alone on 1 CPU "
                               "core, batch 128, by together on 2 CPU cores, batch 128 (one repeat; at least three are needed to decide)\n"
                               "alone on 1 CPU core, batch 128 reached 97 % in 5.00 s\n    it is the one-device "
                               "baseline: no other row of the ranking has a better median\n"));
}

// The fastest row does not reach the target: it cannot be the answer by time to accuracy, but it can by samples/s.
TEST(Summary, AnswersByTheObjective) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, make_result(1000, 8, 0.98));
    maker.add("together", 4, seed, make_result(1600, 5, 0.98));
    maker.add("hasty", 4, seed, make_result(5100, 0, 0.30));
  }
  const mgcompare::Run& run = maker.run;
  EXPECT_THAT(closing_summary(run, {}),
              StartsWith("Several devices are faster: at best 1.60 [1.60 .. 1.60] times as fast to 97 % as alone on 1 CPU core, "
                         "batch 128, by together on 4 CPU cores, batch 128\n"));
  EXPECT_THAT(
      closing_summary(run, {}, Objective::throughput),
      StartsWith(
          "Several devices are faster, but less accurate (0.3000 against 0.9800): at best 5.10 [5.10 .. 5.10] times the samples/s of alone on 1 CPU core, "
          "batch 128, by hasty on 4 CPU cores, batch 128\n"));
  // 8 s on one device against 5 s on four.
  const std::string cost = closing_summary(run, {}, Objective::device_seconds);
  EXPECT_THAT(cost, StartsWith("Several devices do not pay: at best 2.50 [2.50 .. 2.50] times the device-seconds to 97 % of alone on 1 CPU "
                               "core, batch 128, by together on 4 CPU cores, batch 128\nalone on 1 CPU core"));
  EXPECT_THAT(cost, HasSubstr("\nWhy not 4x by together on 4 CPU cores, batch 128: 25 % of its time is exchange"));
}

TEST(Summary, SaysWhenOnlyOneDeviceReachedTheTarget) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  maker.add("hasty", 4, 1, make_result(5100, 0, 0.30));
  EXPECT_THAT(closing_summary(maker.run, {}), StartsWith("Whether several devices pay is undecided: none reached 97 %, and alone on 1 CPU core, batch 128 did (one repeat; "
                                                         "at least three are needed to decide)\nalone on 1 CPU core"));
  for (std::uint64_t seed = 2; seed <= 3; ++seed) {
    maker.baseline(seed, make_result(1000, 8, 0.98));
    maker.add("hasty", 4, seed, make_result(5100, 0, 0.30));
  }
  EXPECT_THAT(closing_summary(maker.run, {}), StartsWith("Several devices do not pay: none reached 97 %, and alone on 1 CPU core, batch 128 did\n"));
  maker.run.rows[2].result = make_result(1000, 0, 0.90);
  EXPECT_THAT(closing_summary(maker.run, {}),
              StartsWith("Whether several devices pay is undecided: none reached 97 %, and alone on 1 CPU core, batch 128 did, in 2 of 3 repeats\n"));
}

TEST(Summary, SaysWhenOnlySeveralDevicesReachedTheTarget) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, make_result(1000, 0, 0.96));
    maker.add("together", 2, seed, make_result(1600, 5, 0.98));
  }
  EXPECT_THAT(closing_summary(maker.run, {}), StartsWith("Several devices pay: no one-device baseline reached 97 %, and together "
                                                         "on 2 CPU cores, batch 128 did\n"));
  maker.run.rows.back().result.seconds_to_target = 0;
  EXPECT_THAT(closing_summary(maker.run, {}), StartsWith("Whether several devices pay is undecided: no one-device baseline reached "
                                                         "97 %, and together on 2 CPU cores, batch 128 did, in 2 of 3 repeats\n"));
}

// At batch 512 two devices are faster than one, and one device at batch 128 is faster than both.
TEST(Summary, TimesToTheTargetAreHeldAgainstTheBestBatchOfOneDevice) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, make_result(1000, 4, 0.98), 128);
    maker.baseline(seed, make_result(1000, 16, 0.98), 512);
    maker.add("together", 2, seed, make_result(1900, 8, 0.98), 512);
  }
  EXPECT_THAT(closing_summary(maker.run, {}),
              StartsWith("Several devices do not pay: at best 0.50 [0.50 .. 0.50] times as fast to 97 % as alone on 1 CPU core, "
                         "batch 128, by together on 2 CPU cores, batch 512\n"));
}

TEST(Summary, ReachingTheTargetSoonerButLessOftenIsNoAnswer) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    maker.baseline(seed, make_result(1000, 8, 0.98));
    maker.add("together", 2, seed, make_result(1600, seed == 4 ? 0 : 5, 0.98));
  }
  EXPECT_THAT(closing_summary(maker.run, {}),
              StartsWith("Whether several devices pay is undecided: no row on several devices reached 97 % more often than together on "
                         "2 CPU cores, batch 128 (3 of 4 repeats), which was 1.60 [1.60 .. 1.60] times as fast to it as alone on 1 CPU "
                         "core, batch 128; the better row reached 97 % in 3 of 4 repeats, and the other in 4 of 4\n"));
}

TEST(Summary, SaysWhenNoRowReachedTheTargetAndWhatItComparesInstead) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, make_result(1000, 0, 0.902));
    maker.add("together", 2, seed, make_result(1600, 0, 0.9));
  }
  EXPECT_THAT(closing_summary(maker.run, {}),
              StartsWith("No row reached 97 %; by samples/s, several devices are faster: at best 1.60 [1.60 .. 1.60] times the "
                         "samples/s of alone on 1 CPU core, batch 128, by together on 2 CPU cores, batch 128\n"
                         "together on 2 CPU cores, batch 128 trained fastest: 1,600 [1,600 .. 1,600] samples/s, accuracy 0.9000"));
  EXPECT_THAT(closing_summary(maker.run, {}, Objective::device_seconds),
              StartsWith("No row reached 97 %; by the device-seconds of the whole training, several devices do not pay: at best "
                         "1.25 [1.25 .. 1.25] times the device-seconds of alone on 1 CPU core, batch 128, by together on 2 CPU cores, "
                         "batch 128\nalone on 1 CPU core, batch 128 is cheapest: "));
  // Samples/s need no target; the summary still reports that the target was missed.
  EXPECT_THAT(closing_summary(maker.run, {}, Objective::throughput),
              AllOf(StartsWith("Several devices are faster: at best 1.60 [1.60 .. 1.60] times the samples/s of "),
                    HasSubstr("\nNo row reached 97 %\ntogether on 2 CPU cores, batch 128 trained fastest")));
}

TEST(Summary, EndsWithWhatWentWrong) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  maker.failed("together", 2, 1, "crashed", "SIGSEGV in step 17");
  maker.failed("together", 2, 2, "crashed", "SIGSEGV in step 17");
  maker.failed("together", 8, 1, "unavailable", "asked 8, have 2");
  EXPECT_THAT(closing_summary(maker.run, {}),
              EndsWith("\n3 of 4 trials were not completed:\n"
                       "  together on 8 CPU cores, batch 128: unavailable (asked 8, have 2)\n"
                       "  together on 2 CPU cores, batch 128 (2 repeats): crashed (SIGSEGV in step 17)\n"));
}

// All that ran counts, as in the progress and in the reports.
TEST(Summary, CountsWhatThePlanHas) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  maker.failed("together", 2, 1, "crashed", "SIGSEGV");
  maker.failed("together", 2, 1, "failed", "no memory").trial.rehearsal = true;
  maker.add("together", 4, 1, make_result(1000, 8, 0.98)).trial.rehearsal = true;
  EXPECT_THAT(closing_summary(maker.run, {}), HasSubstr("\n2 of 4 trials were not completed:\n"));
  EXPECT_THAT(markdown_report(overview_of(maker.run)), HasSubstr("2 of 4 trials were completed; see the causes"));
}

TEST(Summary, SaysHowManyRepeatsReachedTheTarget) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  maker.baseline(2, make_result(1000, 0, 0.90));
  EXPECT_THAT(closing_summary(maker.run, {}), HasSubstr("  8.00 s (1 of 2)  "));
}

TEST(Summary, AsksForFinerEvaluationOfRowsAboveTheTargetAtOnce) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  Row& row = maker.add("together", 2, 1, make_result(1600, 5, 0.98));
  EXPECT_THAT(closing_summary(maker.run, {}), Not(HasSubstr("evaluate")));
  row.result.epochs.front().accuracy = 0.975;
  EXPECT_THAT(closing_summary(maker.run, {}), HasSubstr("\nAbove 97 % already at the first evaluation: together on 2 CPU cores, batch 128. Its time to 97 % is "
                                                        "that of a whole epoch: `evaluate: 0.25` finds it more precisely\n"));
  row.result.traits["pace"] = "free";
  EXPECT_THAT(closing_summary(maker.run, {}), Not(HasSubstr("evaluate")));
}

// Trials that were never possible share one line; every other failure has a line for each row.
TEST(Summary, FoldsWhatTheMachineDoesNotHave) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  for (const std::size_t batch : {128, 256, 512}) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      maker.failed("together", 8, seed, "unavailable", "asked 8, have 2").trial.global_batch = batch;
      maker.failed("together", 2, seed, "crashed", "SIGSEGV").trial.global_batch = batch;
    }
  }
  maker.failed("together", 16, 1, "unavailable", "asked 16, have 2");
  EXPECT_THAT(closing_summary(maker.run, {}),
              EndsWith("\n13 of 14 trials were not completed:\n"
                       "  together on 8 CPU cores, batch 128 and 2 more rows (6 trials): unavailable (asked 8, have 2)\n"
                       "  together on 16 CPU cores, batch 128: unavailable (asked 16, have 2)\n"
                       "  together on 2 CPU cores, batch 128 (2 repeats): crashed (SIGSEGV)\n"
                       "  together on 2 CPU cores, batch 256 (2 repeats): crashed (SIGSEGV)\n"
                       "  together on 2 CPU cores, batch 512 (2 repeats): crashed (SIGSEGV)\n"));
}

// 1.2 times as fast on two devices: 40 % of the time is lost, of which 10 % is exchange, 5 % waiting and 1 % the host.
TEST(Summary, SaysWhereIdealScalingWent) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  Result result = make_result(1200, 7, 0.98);
  const double seconds = result.seconds_training;
  result.ranks = {{.compute = 0.84 * seconds, .exchange = 0.10 * seconds, .waiting = 0.05 * seconds, .harness = 0.01 * seconds}};
  maker.add("together", 2, 1, result);
  EXPECT_THAT(closing_summary(maker.run, {}),
              HasSubstr("\nWhy not 2x: 24 % of its time is computing and updates that did not shrink with the batch per device, "
                        "10 % exchange, 5.0 % waiting for other ranks, and 1.0 % the host outside of steps\n"));
  // The remainder must not repeat what the parts explain.
  maker.run.rows[1].result.ranks = {{.compute = 0.6 * seconds, .exchange = 0.39 * seconds, .harness = 0.01 * seconds}};
  EXPECT_THAT(closing_summary(maker.run, {}), HasSubstr("1.0 % the host outside of steps\n"));
}

TEST(Summary, SaysWhatItTakesToKnow) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  EXPECT_THAT(closing_summary(maker.run, {}),
              StartsWith("Whether several devices pay is not known yet: the answer needs a finished row on several devices, and the "
                         "one-device baseline at the same batch\nalone on 1 CPU core"));
}

TEST(Summary, OfARunThatHasHardlyBegun) {
  RunMaker maker;
  maker.add("together", 2, 1, {}).state = RowState::pending;
  EXPECT_THAT(closing_summary(maker.run, {}),
              AllOf(StartsWith("No trial was completed"), HasSubstr("1 of 1 trials have not finished"),
                    HasSubstr("not finished\n")));
  EXPECT_THAT(closing_summary(mgcompare::Run(), {}), StartsWith("No trial was completed"));
}

TEST(Summary, OfARunWhoseTrialsAllDivergedSaysWhatHelps) {
  RunMaker maker;
  maker.failed("together", 2, 1, "diverged", "step 9, loss infinite");
  EXPECT_THAT(closing_summary(maker.run, {}), AllOf(StartsWith("No trial was completed, because all diverged: lower"),
                                                    HasSubstr("`optimizer.learning_rate`, which is 0.05"), HasSubstr("`data.scale`")));
  maker.failed("together", 4, 1, "failed", "other");
  EXPECT_THAT(closing_summary(maker.run, {}), StartsWith("No trial was completed: there is nothing to compare"));
}

TEST(Summary, CountsATrialThatWasCutShortAmongThoseThatAreRunAgain) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  Result cut;
  cut.status = TrialStatus::interrupted;
  maker.add("together", 2, 1, cut);
  maker.add("together", 2, 2, {}).state = RowState::pending;
  EXPECT_THAT(closing_summary(maker.run, {}), HasSubstr("2 of 3 trials have not finished: --resume runs them"));
}

TEST(Summary, SaysThatDigitsAreNotMnist) {
  mgcompare::Run run = three_by_three();
  run.info.data_name = "digits";
  EXPECT_THAT(closing_summary(run, {}), HasSubstr("built-in drawn digits, not MNIST"));
}

TEST(Summary, SaysWhatIsOddAboutTheData) {
  mgcompare::Run run = three_by_three();
  run.info.data_remark = "cifar10 is not available, so the samples are synthetic";
  EXPECT_THAT(closing_summary(run, {}), HasSubstr(run.info.data_remark));
}

TEST(Summary, IsColoredOnlyWhenAsked) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  maker.add("evil\x1b[2J\xc3\xbc", 2, 1, make_result(1600, 5, 0.98));
  EXPECT_THAT(closing_summary(maker.run, {}), AllOf(Not(HasSubstr("\x1b")), HasSubstr("evil\xc3\xbc")));
  EXPECT_THAT(closing_summary(maker.run, {.color = true}), AllOf(HasSubstr("\x1b[1m"), Not(HasSubstr("\x1b[2J"))));
  EXPECT_THAT(closing_summary(maker.run, {.utf8 = false}), AllOf(HasSubstr("evil?"), Not(HasSubstr("\xc3"))));
}

}  // namespace
}  // namespace mgcompare
