// Rows of several frameworks in one run: their own baselines, whether several devices pay in each, and equal strategies.

#include "reports/answer.h"
#include "reports/frameworks.h"

#include <gmock/gmock.h>

#include "reports/assets.h"
#include "reports/csv.h"
#include "reports/findings.h"
#include "reports/framework.h"
#include "reports/framework_findings.h"
#include "reports/html.h"
#include "reports/infrastructure.h"
#include "reports/json.h"
#include "reports/markdown.h"
#include "reports/summary.h"
#include "results/framework_runs.h"

#include <nlohmann/json.hpp>

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

const Cell& cell_of(const Comparison& comparison, const std::string& label) {
  for (const Cell& cell : comparison.cells)
    if (cell.trial().strategy.label == label) return cell;
  throw std::runtime_error("no row " + label);
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + "\n";
  return all;
}

TEST(Frameworks, HaveTheirOwnBaselines) {
  const RunMaker maker = two_frameworks();
  const Comparison comparison = compare_rows(maker.run);
  const Cell& pair = cell_of(comparison, "T pair");
  EXPECT_EQ(&comparison.cells[*pair.baseline], &cell_of(comparison, "T eager")) << "the fastest one on one device";
  EXPECT_NEAR(pair.speed_up.median, 1.8, 1e-9);
  EXPECT_NEAR(pair.efficiency.median, 0.9, 1e-9);
  EXPECT_EQ(&comparison.cells[*pair.own_baseline], &cell_of(comparison, "alone"));
  EXPECT_NEAR(cell_of(comparison, "T slow").speed_up.median, 0.75, 1e-9);
  EXPECT_NEAR(cell_of(comparison, "together").speed_up.median, 0.9, 1e-9);
  RunMaker marked = two_frameworks();
  for (Row& row : marked.run.rows)
    if (row.trial.strategy.label == "T eager") row.result.epochs[0].seconds_unclocked = 100;
  EXPECT_NEAR(cell_of(compare_rows(marked.run), "T pair").speed_up.median, 2.4, 1e-9) << "a marked row is no baseline";
}

TEST(Frameworks, TheAnswerIsThatOfTheProgramsOwnRows) {
  const RunMaker maker = two_frameworks();
  const std::string text = closing_summary(maker.run, {});
  EXPECT_THAT(text, AllOf(HasSubstr("several devices do not pay: at best 0.90"),
                          HasSubstr("By framework, 2 CPU cores against one at batch 128: 0.90 [0.90 .. 0.90] here, 1.80 [1.80 .. 1.80] in Torchlike 2.1"),
                          HasSubstr("speed-up of another framework: over its own fastest row on one device")));
  EXPECT_THAT(closing_summary(three_by_three(), {}), Not(HasSubstr("framework")));
}

TEST(Frameworks, SayOnceThatAllIsUndecided) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  maker.add("together", 2, 1, make_result(1600, 5, 0.98));
  add_foreign(maker, "T eager", 1, 1, make_result(2700, 3, 0.98), "alone");
  add_foreign(maker, "T pair", 2, 1, make_result(4000, 2, 0.98), "together");
  const std::string summary = framework_summary(compare_rows(maker.run));
  EXPECT_THAT(summary, testing::EndsWith("; all are undecided"));
  EXPECT_THAT(summary, Not(HasSubstr("(undecided)")));
  EXPECT_THAT(html_report(overview_of(maker.run), ""), HasSubstr("<p class=\"consequence\">By framework, 2 CPU cores against one at batch 128"))
      << "above, as on the terminal";
}

// To the target one device takes 8 s here and 3 s there, two take 5 s and 2 s.
RunMaker to_a_target(bool has_own) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, make_result(1000, 8, 0.98));
    if (has_own) maker.add("together", 2, seed, make_result(1600, 5, 0.98));
    add_foreign(maker, "T eager", 1, seed, make_result(2700, 3, 0.98), "alone");
    add_foreign(maker, "T pair", 2, seed, make_result(4000, 2, 0.98), "together");
  }
  return maker;
}

TEST(Frameworks, AreNotMixedInTheAnswer) {
  EXPECT_THAT(answer(compare_rows(to_a_target(true).run)).grounds,
              HasSubstr("at best 1.60 [1.60 .. 1.60] times as fast to 97 % as alone on 1 CPU core, batch 128, by together on 2 CPU cores"));
  EXPECT_THAT(answer(compare_rows(to_a_target(false).run)).grounds,
              HasSubstr("at best 1.50 [1.50 .. 1.50] times as fast to 97 % as T eager on 1 CPU core, batch 128, by T pair on 2 CPU cores"));
  EXPECT_THAT(answer(compare_rows(to_a_target(false).run, Objective::throughput)).grounds, HasSubstr("times the samples/s of T eager on 1 CPU core"));
}

TEST(Frameworks, AnswerForEachAndSayWhy) {
  const RunMaker maker = two_frameworks();
  EXPECT_THAT(framework_answers(compare_rows(maker.run)),
              ElementsAre(AllOf(StartsWith("In Torchlike 2.1, 2 CPU cores are 1.80 [1.80 .. 1.80] times as fast as one at batch 128 (T pair against T eager); here "
                                           "0.90 [0.90 .. 0.90] (together against alone), because a step on one device takes 12."),
                                HasSubstr(" ms here and 63."))));
}

// Rates on one and on two devices: here, and there.
StepReason reason_of(double one, double two, double other_one, double other_two, std::size_t seeds = 3) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const double noise = 1 + 0.002 * static_cast<double>(seed);
    maker.baseline(seed, paced(one * noise));
    maker.add("together", 2, seed, paced(two * noise));
    add_foreign(maker, "T eager", 1, seed, paced(other_one * noise), "alone");
    add_foreign(maker, "T pair", 2, seed, paced(other_two * noise), "together");
  }
  const std::vector<FrameworkPlace> places = framework_places(compare_rows(maker.run));
  return step_effect(places.at(0).frameworks.at(0), places.at(0).frameworks.at(1)).reason;
}

TEST(Frameworks, AShorterStepIsTheReasonOnlyWhereFiguresShowIt) {
  EXPECT_EQ(reason_of(10'000, 9000, 2000, 3600), StepReason::by_step);
  EXPECT_EQ(reason_of(2000, 3600, 10'000, 9000), StepReason::by_step) << "the other way round";
  EXPECT_EQ(reason_of(10'000, 18'000, 2000, 1800), StepReason::not_by_step) << "the shorter step has the higher ratio";
  EXPECT_EQ(reason_of(2200, 1980, 2000, 3600), StepReason::not_by_step) << "steps of nearly the same length";
  EXPECT_EQ(reason_of(10'000, 9000, 2000, 2020), StepReason::not_by_step) << "with the cost here its ratio would be 1.6 in place of 1.01";
  EXPECT_EQ(reason_of(10'000, 25'000, 100, 190), StepReason::not_by_step) << "more than twice as fast: no cost, but a gain";
  EXPECT_EQ(reason_of(10'000, 18'000, 2000, 3610), StepReason::undecided) << "equal ratios";
  EXPECT_EQ(reason_of(10'000, 9000, 2000, 3600, 2), StepReason::undecided) << "too few repeats";
}

TEST(Frameworks, SayWhatIsMissing) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, paced(10'000));
    add_foreign(maker, "T pair", 2, seed, paced(3600), "together");
  }
  const Comparison comparison = compare_rows(maker.run);
  EXPECT_FALSE(cell_of(comparison, "T pair").baseline) << "the program's baseline is of another framework";
  EXPECT_THAT(framework_answers(comparison), ElementsAre("In Torchlike 2.1 there is no usable row on one device to compare T pair with at batch 128: whether "
                                                         "several devices pay there is not known; add such a row to `strategies`"));
  EXPECT_THAT(like_pairs(comparison), IsEmpty());
  EXPECT_THAT(closing_summary(maker.run, {}),
              HasSubstr("whether several devices pay is not known yet: the answer needs a finished row on several devices, and the one-device "
                        "baseline of its framework at the same batch"));
  std::erase_if(maker.run.rows, [](const Row& row) { return row.result.traits.at("role") == "baseline"; });
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.add("together", 2, seed, paced(9000));
    add_foreign(maker, "T eager", 1, seed, paced(2000), "alone");
  }
  EXPECT_THAT(framework_answers(compare_rows(maker.run)), ElementsAre(HasSubstr("; here there is no usable one-device baseline to compare together with")));
}

TEST(Frameworks, AreHeldAgainstEqualStrategies) {
  const RunMaker maker = two_frameworks();
  const Comparison comparison = compare_rows(maker.run);
  const std::vector<LikePair> pairs = like_pairs(comparison);
  ASSERT_THAT(pairs, SizeIs(2));
  EXPECT_EQ(pairs[0].cell->series, "T eager");
  EXPECT_EQ(pairs[0].own->series, "alone");
  EXPECT_NEAR(pairs[0].ratio.median, 0.2, 1e-9);
  EXPECT_EQ(pairs[0].order, Order::below);
  EXPECT_EQ(pairs[1].own->series, "together");
  EXPECT_NEAR(pairs[1].ratio.median, 0.4, 1e-9);
  EXPECT_THAT(like_table(comparison).lines, SizeIs(2));
  EXPECT_THAT(framework_table(comparison).lines, SizeIs(5));
}

TEST(Frameworks, AreReadAlongTheRowThatOneTrainsWith) {
  const RunMaker maker = two_frameworks();
  const Comparison comparison = compare_rows(maker.run);
  EXPECT_THAT(framework_answer_table(comparison).lines,
              ElementsAre(ElementsAre("mgcompare", "together", "cpu:2", "128", HasSubstr("0.90"), "alone", HasSubstr("ms")),
                          ElementsAre("Torchlike 2.1", "T pair", "cpu:2", "128", HasSubstr("1.80"), "T eager", HasSubstr("ms"))));
  EXPECT_THAT(mode_table(comparison).lines, ElementsAre(ElementsAre("Torchlike 2.1", "T pair", "cpu:2", "128", "1.80 T eager, 2.40 T slow")));
}

// Dropout masks differ between frameworks, so equal seeds are no pairs.
TEST(Frameworks, MayLearnAlikeWithoutAnExactPromise) {
  RunMaker maker = two_frameworks();
  const std::size_t exact = framework_coincidences(compare_rows(maker.run)).size();
  ASSERT_EQ(exact, 2u);
  for (Row& row : maker.run.rows)
    if (row.trial.strategy.name == "torchlike") row.result.traits["promise"] = "approximate";
  const std::vector<Coincidence> pairs = framework_coincidences(compare_rows(maker.run));
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_FALSE(pairs[0].is_paired);
  EXPECT_TRUE(pairs[0].coincides());
}

TEST(Frameworks, LearnAlikeAlsoWhereTheyAreTooShortToMeasure) {
  RunMaker maker = two_frameworks();
  for (Row& row : maker.run.rows) row.result.seconds_training = 0.001;
  const Comparison comparison = compare_rows(maker.run);
  EXPECT_THAT(like_pairs(comparison), IsEmpty());
  EXPECT_EQ(framework_coincidences(comparison).size(), 2u);
}


TEST(Frameworks, LeaveMarkedRowsOutAndNameThem) {
  RunMaker maker = two_frameworks();
  for (Row& row : maker.run.rows)
    if (row.trial.strategy.label == "T pair") row.result.epochs[0].seconds_reported = 0.5 * row.result.epochs[0].seconds_training;
  const Comparison comparison = compare_rows(maker.run);
  EXPECT_THAT(like_pairs(comparison), SizeIs(1));
  EXPECT_THAT(joined(framework_sentences(comparison)), AllOf(HasSubstr("In Torchlike 2.1 there is no usable row on several devices"),
                                                             HasSubstr("Left out because of their marks: T pair on 2 CPU cores"),
                                                             HasSubstr("What to do: run again while nothing else uses the machine; if the mark stays")));
  EXPECT_THAT(closing_summary(maker.run, {}), HasSubstr("The clock of a backend and the program's differ: T pair on 2 CPU cores"));
}

// Epochs of 20 ms, of which the backend's clock tells a part.
bool has_clock_mark(const std::vector<double>& parts) {
  RunMaker maker;
  Result result = paced(1'000'000);
  result.epochs.assign(parts.size(), result.epochs.at(0));
  Row& row = add_foreign(maker, "T eager", 1, 1, result, "");
  for (std::size_t epoch = 0; epoch < parts.size(); ++epoch) {
    row.result.epochs[epoch].seconds_training = 0.02;
    row.result.epochs[epoch].seconds_reported = 0.02 * parts[epoch];
  }
  return is_marked(marks_of(row, {}), MarkKind::other_clock);
}

TEST(Frameworks, MarkAClockThatIsWrongInShortEpochsToo) {
  EXPECT_TRUE(has_clock_mark({0.3, 0.3, 0.3, 0.3}));
  EXPECT_TRUE(has_clock_mark({0.9, 0.9, 0.9}));
  EXPECT_FALSE(has_clock_mark({0.99, 0.98, 0.99, 0.99}));
  EXPECT_FALSE(has_clock_mark({0.99, 0.5, 0.99, 0.99})) << "one message was late";
  EXPECT_FALSE(has_clock_mark({0.5, 0.99})) << "too few epochs to tell";
}

TEST(Frameworks, OneAloneHasNoSection) {
  RunMaker maker = two_frameworks();
  std::erase_if(maker.run.rows, [](const Row& row) { return is_own(row); });
  for (const mgcompare::Run& run : {three_by_three(), maker.run}) {
    EXPECT_THAT(framework_places(compare_rows(run)), IsEmpty());
    EXPECT_THAT(framework_sentences(compare_rows(run)), IsEmpty());
    EXPECT_THAT(markdown_report(overview_of(run)), Not(HasSubstr("By framework")));
    EXPECT_THAT(html_report(overview_of(run), ""), Not(HasSubstr("By framework")));
    EXPECT_THAT(json_text(run), Not(HasSubstr("by_framework")));
  }
  // Rows that are unavailable are no second framework.
  RunMaker unavailable;
  unavailable.baseline(1, paced(1000));
  unavailable.failed("torchlike", 1, 1, "unavailable", "python3 has no module torchlike").trial.plugin_file = "/plugins/torchlike/backend.json";
  EXPECT_THAT(markdown_report(overview_of(unavailable.run)), Not(HasSubstr("By framework")));
}

TEST(Frameworks, AreNotComparedWithRowsWhoseOptionsMakeThemApproximate) {
  RunMaker maker = two_frameworks();
  EXPECT_EQ(like_pairs(compare_rows(maker.run)).size(), 2u);
  for (Row& row : maker.run.rows) {
    if (row.trial.strategy.label != "together") continue;
    row.trial.strategy.options = {{"wire", "fp16", false, {}}};
    row.result.traits["promise"] = "approximate";
  }
  const std::vector<LikePair> pairs = like_pairs(compare_rows(maker.run));
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].own->trial().strategy.label, "alone");
}

TEST(Frameworks, HaveASectionInEveryReport) {
  const RunMaker maker = two_frameworks();
  const std::string text = markdown_report(overview_of(maker.run));
  EXPECT_THAT(text, AllOf(HasSubstr("## By framework\n\n- In Torchlike 2.1, 2 CPU cores are 1.80"), HasSubstr("## Samples/s by framework"),
                          HasSubstr("## Frameworks at equal strategies"), HasSubstr("| Torchlike 2.1 | T pair | cpu:2 | 128 |"),
                          HasSubstr("| Torchlike | 2.1 (cuda 12.6, torchlike 2.1.0+cu126) |"),
                          HasSubstr("Rows of another framework are compared with its own fastest row on one device")));
  const std::string page = html_report(overview_of(maker.run), "");
  EXPECT_THAT(page, AllOf(HasSubstr("<section id=\"frameworks\">"), HasSubstr("In Torchlike 2.1, 2 CPU cores are 1.80")));
  EXPECT_EQ(page.find("id=\"frameworks-0\"") == std::string::npos, assets::chart_script().empty());
}

TEST(Frameworks, AreInJson) {
  const RunMaker maker = two_frameworks();
  const nlohmann::json json = nlohmann::json::parse(json_text(maker.run));
  EXPECT_EQ(json["frameworks"], nlohmann::json({{{"name", "Torchlike"}, {"version", "2.1"}, {"versions", {{"cuda", "12.6"}, {"torchlike", "2.1.0+cu126"}}}}}));
  const nlohmann::json& by_framework = json["by_framework"];
  EXPECT_EQ(by_framework["several_over_one"][1]["framework"], "Torchlike");
  EXPECT_NEAR(by_framework["several_over_one"][1]["ratio"]["median"].get<double>(), 1.8, 1e-9);
  EXPECT_EQ(by_framework["several_over_one"][1]["against_here"], "by_step");
  EXPECT_EQ(by_framework["equal_strategies"][1]["row_here"], "together cpu:2 batch 128");
  EXPECT_EQ(by_framework["accuracy"][0]["coincides"], true);
  EXPECT_EQ(json["rows"][1]["framework"], kOwnFramework);
  EXPECT_EQ(json["trials"][2]["result"]["like"], "alone");
}

TEST(Frameworks, HaveTheirClocksInCsv) {
  const RunMaker maker = two_frameworks(1);
  const std::string text = csv_report(maker.run);
  EXPECT_THAT(text.substr(0, text.find('\r')),
              AllOf(HasSubstr(",variant,framework,model,"), HasSubstr(",framework_version,framework_versions,like,status,"),
                    HasSubstr(",seconds_training,seconds_reported,seconds_unclocked,seconds_evaluation,")));
  EXPECT_THAT(text, AllOf(HasSubstr(",Torchlike,lenet,"), HasSubstr(",2.1,cuda 12.6; torchlike 2.1.0+cu126,alone,done,"),
                          HasSubstr(",mgcompare,lenet,")));
  const double seconds = 10'000 / (2000 * 1.002);
  EXPECT_THAT(text, HasSubstr(fmt::format(",{},{},{},", seconds, 2 * (seconds / 2 * 0.99), 0.02)));
}

TEST(Frameworks, OfOlderResultsHaveTheNameOfTheirBackend) {
  RunMaker maker = two_frameworks(1);
  Row& row = maker.run.rows[2];
  row.result.framework = row.result.framework_version = row.result.like = "";
  EXPECT_EQ(framework_title(row), "torchlike");
  row.result.framework = kOwnFramework;
  EXPECT_EQ(framework_of(row), "mgcompare (backend)") << "only a strategy's rows are the program's own";
  row.result.framework = "Torch\x1b[31m\nlike";
  EXPECT_THAT(framework_of(row), Not(HasSubstr("\x1b")));
}

TEST(Frameworks, OfOtherVersionsAreToldInAMergedReport) {
  const RunMaker one = two_frameworks(1);
  RunMaker other = two_frameworks(1);
  for (Row& row : other.run.rows)
    if (!is_own(row)) row.result.framework_version = "2.2";
  EXPECT_THAT(
      differences({one.run, other.run}, {"a", "b"}),
      Contains("a and b were trained with different versions of Torchlike: 2.1 (cuda 12.6, torchlike 2.1.0+cu126) and 2.2 (cuda 12.6, torchlike 2.1.0+cu126)"));
  EXPECT_THAT(differences({one.run, one.run}, {"a", "b"}), Not(Contains(HasSubstr("versions of"))));
}

}  // namespace
}  // namespace mgcompare
