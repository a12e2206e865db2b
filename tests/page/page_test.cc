// report.html in a real browser.

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <utility>

#include "page/browser.h"
#include "page/pages.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "results/framework_runs.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kCount[] = R"(
addEventListener("load", () => {
  const page = document.documentElement;
  const look = () => {
    if (!page.dataset.drawn) return setTimeout(look, 50);
    const legends = [...document.querySelectorAll(".chart .role-legend")].map((one) => one.getBoundingClientRect());
    const cut = legends.filter(({ left, right }) => left < 0 || right > innerWidth).length;
    parent.postMessage(innerWidth + " wide, " + (page.scrollWidth - page.clientWidth) + " over, " + legends.length + " legends, " +
      cut + " cut", "*");
    for (const chart of document.querySelectorAll(".chart")) {
      chart.dataset.points = String(chart.querySelectorAll(".mark-symbol:not(.role-legend-symbol) path").length);
      chart.dataset.marks = String(chart.querySelectorAll(".mark-symbol path, .mark-rect path").length);
    }
    const faint = () => [...document.querySelectorAll("#efficiency-0 .mark-symbol path")]
      .filter((one) => Number(one.getAttribute("opacity") ?? one.style.opacity ?? 1) < 0.5).length;
    const before = faint();
    document.querySelector('.legend button[data-series="together"]').click();
    setTimeout(() => { page.dataset.faint = before + " then " + faint(); }, 500);
  };
  look();
});
)";

// Moves the pointer to the first mark of the first chart and records the effect.
constexpr char kUse[] = R"(
addEventListener("load", () => {
  const page = document.documentElement;
  const look = async () => {
    if (!page.dataset.drawn) return setTimeout(look, 50);
    const chart = document.getElementById("efficiency-0"), mark = chart.querySelector(".mark-symbol path");
    const { left, top, width, height } = mark.getBoundingClientRect();
    for (const kind of ["pointermove", "mousemove"])
      mark.dispatchEvent(new MouseEvent(kind, { bubbles: true, clientX: left + width / 2, clientY: top + height / 2 }));
    await new Promise((done) => setTimeout(done, 200));
    const tip = document.getElementById("vg-tooltip-element");
    page.dataset.tip = tip && tip.classList.contains("visible") ? tip.textContent : "none";
    page.dataset.used = "yes";
  };
  look();
});
)";

std::string break_down(const std::string& dom, const std::string& name, std::size_t from = 0) {
  const std::size_t begin = dom.find(" " + name + "=\"", from);
  if (begin == std::string::npos) return "absent";
  const std::size_t value = begin + name.size() + 3;
  return dom.substr(value, dom.find('"', value) - value);
}

TEST_F(Page, DrawsEveryChartWithoutAComplaintOrARequest) {
  if (assets::chart_script().empty()) GTEST_SKIP() << "this build has no chart libraries (npm was missing)";
  const Shown shown = show(wide_page());
  std::size_t charts = 0;
  for (std::size_t at = 0; (at = shown.dom.find("class=\"chart vega-embed", at)) != std::string::npos; ++at) ++charts;
  EXPECT_GE(charts, 10u);
  EXPECT_EQ(break_down(shown.dom, "data-drawn"), std::to_string(charts));
  EXPECT_EQ(break_down(shown.dom, "data-failed"), "absent");
  EXPECT_EQ(shown.console, "");
  EXPECT_EQ(shown.requests, "");
}

TEST_F(Page, EveryRowIsAMarkAndALegendClickIsolates) {
  if (assets::chart_script().empty()) GTEST_SKIP() << "this build has no chart libraries (npm was missing)";
  const Shown shown = show(with_script(without_policy(wide_page()), kCount));
  // One device of `alone`; one, two and four of `together`.
  for (const char* chart : {"efficiency-0", "efficiency-1", "speed-up-0", "speed-up-1"}) {
    const std::size_t at = shown.dom.find("id=\"" + std::string(chart) + "\"");
    ASSERT_NE(at, std::string::npos) << chart;
    EXPECT_EQ(break_down(shown.dom, "data-points", at), "4") << chart;
  }
  for (std::size_t at = 0; (at = shown.dom.find("data-marks=\"", at)) != std::string::npos; at += 12)
    EXPECT_NE(shown.dom.compare(at, 14, "data-marks=\"0\""), 0);
  EXPECT_EQ(break_down(shown.dom, "data-faint"), "0 then 1");
}

// Every chart has an accessible name, and no two names are equal.
TEST_F(Page, EveryChartHasItsOwnName) {
  if (assets::chart_script().empty()) GTEST_SKIP() << "this build has no chart libraries (npm was missing)";
  const std::string dom = show(wide_page()).dom;
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = dom.find("role=\"graphics-document\"", at)) != std::string::npos; ++at)
    names.push_back(break_down(dom, "aria-label", dom.rfind('<', at)));
  EXPECT_THAT(names, testing::Contains("Efficiency, global batch 128"));
  EXPECT_EQ(std::to_string(names.size()), break_down(dom, "data-drawn"));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << testing::PrintToString(names);
}

// Two epochs of two rows that compute in the same way, on one device and on two.
TEST_F(Page, SeveralFrameworksHaveASectionAndTheirCurves) {
  if (assets::chart_script().empty()) GTEST_SKIP() << "this build has no chart libraries (npm was missing)";
  const Shown shown = show(with_script(without_policy(page_of(two_frameworks().run)), kCount));
  for (const char* chart : {"frameworks-0", "frameworks-1"}) {
    const std::size_t at = shown.dom.find("id=\"" + std::string(chart) + "\"");
    ASSERT_NE(at, std::string::npos) << chart;
    EXPECT_EQ(break_down(shown.dom, "data-points", at), "4") << chart;
  }
  const Shown untouched = show(page_of(two_frameworks().run));
  EXPECT_EQ(break_down(untouched.dom, "data-failed"), "absent");
  EXPECT_EQ(untouched.console, "");
}

TEST_F(Page, AMarkTellsItsFigures) {
  if (assets::chart_script().empty()) GTEST_SKIP() << "this build has no chart libraries (npm was missing)";
  const Shown shown = show(with_script(without_policy(wide_page()), kUse));
  EXPECT_EQ(break_down(shown.dom, "data-used"), "yes");
  EXPECT_THAT(break_down(shown.dom, "data-tip"), AnyOf(HasSubstr("alone on 1 CPU core"), HasSubstr("together on")));
}

// Staleness 0 (five times), 1 (three times) and 3 (once) on each of two ranks, in three repeats.
TEST_F(Page, AHistogramHasAMarkForEachValueThatCame) {
  if (assets::chart_script().empty()) GTEST_SKIP() << "this build has no chart libraries (npm was missing)";
  mgcompare::Run run = wide_run();
  for (Row& row : run.rows) {
    if (row.trial.devices == 2) row.result.metrics.assign(2, {{"staleness", {.count = 9, .counts = {5, 3, 0, 1}}}});
  }
  const Shown shown = show(with_script(without_policy(page_of(run)), kCount));
  for (const char* chart : {"histogram-0", "histogram-1"}) {
    const std::size_t at = shown.dom.find("id=\"" + std::string(chart) + "\"");
    ASSERT_NE(at, std::string::npos) << chart;
    EXPECT_EQ(break_down(shown.dom, "data-marks", at), "3") << chart;
  }
  EXPECT_EQ(shown.dom.find("id=\"histogram-2\""), std::string::npos);
  EXPECT_THAT(shown.dom, HasSubstr("How often each staleness occurred"));
  // Every row that sends bytes is a point for each number of devices: `alone`, and `together` on one, two and four.
  EXPECT_EQ(break_down(shown.dom, "data-points", shown.dom.find("id=\"bytes-0\"")), "4");
}

// A value that occurs once in a thousand times is visible, and values beyond the histogram's range share a column.
TEST(Histogram, KeepsEveryCount) {
  mgcompare::Run run = wide_run();
  std::vector<std::uint64_t> counts(256, 0);
  counts[0] = 999, counts[255] = 1;
  for (Row& row : run.rows) row.result.metrics = {{{"staleness", {.count = 1000, .counts = counts}}}};
  const std::vector<ChartGroup> groups = histogram_charts(compare_rows(run));
  ASSERT_EQ(groups.size(), 1u);
  ASSERT_EQ(groups[0].charts.size(), 2u);
  for (const Chart& chart : groups[0].charts) {
    double share = 0;
    std::string last;
    for (const Json& value : chart.spec["data"]["values"]) {
      if (value["label"] != "together \u00d7 4") continue;
      share += value["share"].get<double>();
      last = value["value"].get<std::string>();
    }
    EXPECT_NEAR(share, 1, 1e-12);
    EXPECT_EQ(last, "240+");
  }
}

TEST_F(Page, FitsAPhone) {
  if (assets::chart_script().empty()) GTEST_SKIP() << "this build has no chart libraries (npm was missing)";
  const Shown shown = show(with_script(without_policy(wide_page()), kCount), 390);
  // The charts of a step's parts and of bytes, with a panel for each batch.
  EXPECT_EQ(break_down(shown.dom, "data-said"), "390 wide, 0 over, 4 legends, 0 cut");
}

// On an ordinary screen no table scrolls horizontally.
TEST_F(Page, TablesFitAScreen) {
  mgcompare::Run run = wide_run("sharded_server by range");
  for (Row& row : run.rows) {
    row.result.windows = {{100, 1100, 1}, {100, 1200, 1}, {100, 1300, 1}, {100, 1400, 1}};
    row.result.ranks.back().strategy += 0.07 * row.result.seconds_training;
  }
  constexpr char kOpen[] = R"(
    for (const one of document.querySelectorAll("details")) one.open = true;
    document.documentElement.dataset.over = [...document.querySelectorAll(".scroll")]
      .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.id).join(" ");
    document.documentElement.dataset.tables = document.querySelectorAll(".scroll").length;)";
  const Shown shown = show(with_script(without_policy(page_of(run)), kOpen));
  EXPECT_EQ(break_down(shown.dom, "data-over"), "");
  EXPECT_GE(std::stoi(break_down(shown.dom, "data-tables")), 10);
  EXPECT_THAT(shown.dom, HasSubstr("<small>(drifts by +"));
}

// The template uses only {{x}}, which escapes.
TEST(Template, HasNoRawTags) {
  EXPECT_THAT(std::string(assets::page_template()), Not(HasSubstr("{{{")));
  EXPECT_THAT(std::string(assets::page_template()), Not(HasSubstr("{{&")));
}

TEST(Html, IsAFunctionOfTheResults) {
  const mgcompare::Run run = wide_run();
  const auto page = [&] { return html_report(compare_rows(run, Objective::throughput), ""); };
  EXPECT_EQ(page(), page());
}

TEST(Html, HasItsSectionsInOrder) {
  const std::string& page = wide_page();
  std::size_t last = 0;
  for (const char* section : {"answer", "scaling", "accuracy", "time", "why", "prediction", "tables"}) {
    const std::size_t at = page.find("<section id=\"" + std::string(section) + "\"");
    ASSERT_NE(at, std::string::npos) << section;
    EXPECT_GT(at, last) << section;
    last = at;
  }
}

// A table of more than 60 lines is printed only if the reader opened it.
TEST(Html, SaysAboveTheAnswerWhatTaintsTheRun) {
  mgcompare::Run run = wide_run();
  EXPECT_EQ(page_of(run).find("Tainted:"), std::string::npos);
  run.info.taints = {"cuda:0 to cuda:1 <b>damages</b> data"};
  const std::string page = page_of(run);
  const std::size_t said = page.find("<strong>Tainted:</strong> cuda:0 to cuda:1 &lt;b&gt;damages&lt;/b&gt; data");
  EXPECT_NE(said, std::string::npos);
  EXPECT_LT(said, page.find("class=\"verdict\""));
}

TEST(Html, MarksRowsWhosePartsDoNotSumToTheirSteps) {
  mgcompare::Run run = wide_run();
  const auto marked = [&] { return page_of(run).find("\"? together \u00d7 4\"") != std::string::npos; };
  const auto faded = [&] { return page_of(run).find("\"reliable\":false") != std::string::npos; };
  EXPECT_FALSE(marked() || faded());
  for (Row& row : run.rows)
    if (row.trial.devices == 4) row.result.ranks.back().compute *= 1.1;
  EXPECT_TRUE(marked() && faded());
}

// Panels that show one quantity at two batches share a scale.
TEST(Html, ComparesPanelsByOneScale) {
  const mgcompare::Run run = wide_run();
  const Comparison comparison = compare_rows(run);
  std::size_t compared = 0;
  for (const auto& groups : {scaling_charts(comparison), accuracy_charts(comparison), bytes_charts(comparison)}) {
    for (const ChartGroup& group : groups) {
      if (group.caption.find("its own scales") != std::string::npos) continue;
      const bool across = group.charts[0].id == "bytes-0" || group.charts[0].id == "target-0";
      std::set<std::string> scales;
      for (const Chart& chart : group.charts)
        scales.insert(chart.spec["layer"].back()["encoding"][across ? "x" : "y"]["scale"].dump());
      EXPECT_EQ(scales.size(), 1u) << group.title << testing::PrintToString(scales);
      EXPECT_GT(group.charts.size(), 1u) << group.title;
      ++compared;
    }
  }
  EXPECT_GE(compared, 5u);
}

TEST(Html, MarksLongTables) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) maker.add("together", 1, seed, make_result(1000, 5, 0.98));
  EXPECT_THAT(page_of(maker.run), Not(HasSubstr("<details data-long>")));
  maker.add("together", 1, 61, make_result(1000, 5, 0.98));
  const std::string page = page_of(maker.run);
  const std::size_t at = page.find("<details data-long>");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(page.find("<details data-long>", at + 1), std::string::npos);
  EXPECT_EQ(page.find("<summary>Order of execution</summary>", at), page.find("<summary>", at));
}

TEST(Html, StaysSmall) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    for (std::size_t batch = 32; batch <= 32 * 25; batch += 32)
      for (const std::size_t devices : {1, 2, 4, 8})
        maker.add("together", devices, seed, make_result(1000.0 * static_cast<double>(devices), 5, 0.98), batch);
  ASSERT_EQ(maker.run.rows.size(), 500u);
  EXPECT_LT(page_of(maker.run).size(), 3'000'000u);
}

TEST(Html, OfARowOrNothingSaysWhatIsMissing) {
  RunMaker maker;
  const std::string empty = page_of(maker.run);
  EXPECT_THAT(empty, AllOf(HasSubstr("No trial was completed"), HasSubstr("because no trial was completed"), HasSubstr("id=\"tables\"")));
  for (const std::string section : {"scaling", "accuracy", "time", "why", "prediction"})
    EXPECT_THAT(empty, Not(AnyOf(HasSubstr("id=\"" + section + "\""), HasSubstr("href=\"#" + section + "\""))));
  maker.add("together", 1, 1, make_result(1000, 5, 0.98));
  const std::string page = page_of(maker.run);
  EXPECT_THAT(page, HasSubstr("There is no curve to draw"));
  EXPECT_THAT(page, HasSubstr("Add devices to <code>scaling.devices</code>, and"));
  EXPECT_THAT(page, HasSubstr("There is nothing to predict from"));
  // A single strategy needs no legend.
  EXPECT_THAT(page, Not(HasSubstr("class=\"legend\"")));
  EXPECT_THAT(wide_page(), HasSubstr("class=\"legend\""));
  maker.run.rows[0].state = RowState::pending;
  EXPECT_THAT(page_of(maker.run), HasSubstr("Partial: none of the 1 trials has finished"));
}

// Equal curves are drawn on top of each other: the lower ones are wider, the top one is not.
TEST(Html, CurvesBelowEqualOnesAreWider) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, make_result(1000, 8, 0.985));
    for (const std::size_t devices : {1, 2, 4})
      for (const auto& [name, speed] : {std::pair("first", 900.0), {"second", 901.0}, {"third", 899.0}, {"slow", 500.0}})
        maker.add(name, devices, seed, make_result(speed * static_cast<double>(devices), 5, 0.984));
  }
  std::size_t seen = 0;
  for (const ChartGroup& group : scaling_charts(compare_rows(maker.run))) {
    std::map<std::string, double> widths;
    for (const Json& value : group.charts.front().spec["data"]["values"]) widths[value["series"]] = value.value("width", 0.0);
    EXPECT_GT(widths["first"], widths["second"]) << group.title;
    EXPECT_GT(widths["second"], 2) << group.title;
    for (const char* on_top : {"third", "slow", "alone"}) EXPECT_EQ(widths[on_top], 0) << group.title << " " << on_top;
    ++seen;
  }
  EXPECT_EQ(seen, 2u);
}

TEST(Html, TheFirstCurveIsAtTheBatchOfTheAnswerAndHasAKey) {
  if (assets::chart_script().empty()) GTEST_SKIP() << "this build has no chart libraries (npm was missing)";
  const std::string& page = wide_page();
  EXPECT_THAT(page, HasSubstr("Speed-up of samples/s, global batch 512: 3.60x by together on 4 CPU cores"));
  const std::size_t key = page.find("<p class=\"series\">"), tiles = page.find("<dl class=\"tiles\">");
  ASSERT_NE(key, std::string::npos);
  EXPECT_LT(key, tiles);
  EXPECT_THAT(page.substr(key, tiles - key), AllOf(HasSubstr("</span> alone</span>"), HasSubstr("</span> together</span>"), HasSubstr("What to do: use together")));
  // The findings below do not repeat it.
  const std::size_t findings = page.find("<div class=\"findings\">");
  EXPECT_THAT(page.substr(findings, page.find("</div>", findings) - findings), Not(HasSubstr("What to do")));
  const std::string crowd = page_of(crowded_run());
  EXPECT_THAT(crowd, HasSubstr("<span>6 more in grey</span>"));
}

TEST(Html, EveryPanelOfSeveralSaysWhatItShows) {
  const std::string& page = wide_page();
  if (assets::chart_script().empty()) GTEST_SKIP() << "this build has no chart libraries (npm was missing)";
  EXPECT_THAT(page, AllOf(HasSubstr("<figcaption>global batch 512: 90 % at best on 4 CPU cores, by together</figcaption>"),
                          HasSubstr("<h3>Samples/s against batch: 18,620 at most, by together on 4 CPU cores, batch 512</h3>")));
}

TEST(Html, TilesAreAboutSeveralDevicesEvenIfOneIsFaster) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 5, 0.98));
  maker.add("together", 2, 1, make_result(900, 8, 0.98));
  EXPECT_THAT(
      page_of(maker.run),
      AllOf(HasSubstr(
                "<dt>Fastest to 97 % on several devices</dt><dd><strong>8.00 s</strong><span>together on 2 CPU cores, batch 128; on one device 5.00 s</span>"),
            HasSubstr("<dt>Most samples/s on several devices</dt><dd><strong>900</strong>"),
            HasSubstr("<dt>Accuracy after the last epoch</dt><dd><strong>0.9800</strong><span>together")));
}

TEST(Html, OfFailuresAloneSaysTheirCauses) {
  RunMaker maker;
  maker.failed("alone", 1, 1, "crashed", "killed by signal 11");
  for (std::uint64_t seed = 1; seed <= 2; ++seed) maker.failed("together", 2, seed, "failed", "no such file");
  const std::string page = page_of(maker.run);
  EXPECT_THAT(page, HasSubstr("<p class=\"consequence\">Failed (2 trials): no such file.</p><p class=\"consequence\">Crashed (1 trial): killed by signal 11.</p>"));
  EXPECT_THAT(page, Not(HasSubstr("class=\"objectives\"")));
}

TEST(Html, SaysWhatIsComparedInPlaceOfTheTarget) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 0, 0.91));
  maker.add("together", 2, 1, make_result(1600, 0, 0.9));
  const std::string page = page_of(maker.run);
  EXPECT_THAT(page, HasSubstr("<p class=\"verdict\">No row reached 97 %; by samples/s, a gain is seen, but not confirmed.</p>"));
  EXPECT_THAT(page, HasSubstr("No row reached 97 %: rows are ranked by the device-seconds of the whole training"));
  for (Row& row : maker.run.rows) {
    Config config = *row.config;
    config.target_accuracy = 0;
    row.config = std::make_shared<const Config>(config);
  }
  EXPECT_THAT(page_of(maker.run), AllOf(HasSubstr("The config sets no target accuracy: rows are ranked by samples/s"),
                                        Not(HasSubstr("No row reached"))));
}

TEST(Drawing, HasALineForEachStrategyAndTakesNamesAsTheyAre) {
  const std::string svg = draw_scaling(compare_rows(wide_run("it's <b>`id`</b> $x")));
  if (svg.empty()) GTEST_SKIP() << "gnuplot is not installed (scripts/setup installs it)";
  EXPECT_THAT(svg, HasSubstr("it's &lt;b>`id`&lt;/b> $x"));
  EXPECT_THAT(svg, Not(HasSubstr("<b>")));
  EXPECT_THAT(draw_scaling(compare_rows(three_by_three())), HasSubstr("</svg>"));
  RunMaker maker;
  maker.add("together", 1, 1, make_result(1000, 5, 0.98));
  EXPECT_EQ(draw_scaling(compare_rows(maker.run)), "");
}

}  // namespace
}  // namespace mgcompare
