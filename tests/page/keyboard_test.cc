// report.html used with the keyboard and a screen reader.

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "page/driven_page.h"
#include "page/pages.h"
#include "reports/charts/series.h"

namespace mgcompare {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The visible controls in document order, numbered.
constexpr char kNumberControls[] = R"js((() => {
  const all = [...document.querySelectorAll("a[href], button, input, summary, [tabindex='0']")]
    .filter((one) => one.checkVisibility() && !(one.type === "radio" && !one.checked));
  all.forEach((one, number) => { one.dataset.number = number; });
  return all.length;
})())js";

// Which control has the focus, whether its outline is drawn, and whether another element covers it.
constexpr char kFocus[] = R"js((() => {
  const one = document.activeElement;
  const shown = one.type === "radio" ? one.nextElementSibling : one;
  const style = getComputedStyle(shown), box = shown.getBoundingClientRect();
  const top = document.elementFromPoint(box.left + Math.min(box.width / 2, 20), box.top + Math.min(box.height / 2, 10));
  return {
    number: Number(one.dataset.number ?? -1),
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    free: top !== null && (shown.contains(top) || top.contains(shown)),
    what: one.outerHTML.slice(0, 200),
  };
})())js";

// Contrast of all visible text and marks against their background: lists those below 4.5:1 (text) and 3:1 (marks).
constexpr char kPale[] = R"js((() => {
  const ground = (one) => {
    for (; one; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      if (!/, 0\)$/.test(color) && color !== "transparent") return color;
    }
    return "rgb(255, 255, 255)";
  };
  const light = (color) => {
    const [r, g, b] = color.match(/[\d.]+/g).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const pale = [];
  let seen = 0;
  const check = (one, color, least) => {
    ++seen;
    const found = ratio(color, ground(one));
    if (found < least) pale.push(`${found.toFixed(2)} ${color} ${one.outerHTML.slice(0, 120)}`);
  };
  for (const one of document.querySelectorAll("body *")) {
    const has_text = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
    if (!has_text || /^(SCRIPT|STYLE|NOSCRIPT)$/.test(one.tagName) || !one.checkVisibility()) continue;
    if (one.getAttribute("aria-hidden") === "true" && one.closest(".legend, .series")) continue;
    const style = getComputedStyle(one);
    check(one, one.closest("svg") ? style.fill : style.color, 4.5);
  }
  for (const one of document.querySelectorAll("#scaling .mark-symbol path, #scaling .mark-line path, .legend [aria-hidden], .series [aria-hidden]")) {
    const style = getComputedStyle(one);
    check(one, one.closest("svg") ? (style.fill === "none" || /, 0\)$/.test(style.fill) ? style.stroke : style.fill) : style.color, 3);
  }
  return { seen, pale };
})())js";

class Keyboard : public Page {
 protected:
  void SetUp() override {
    Page::SetUp();
    if (assets::chart_script().empty()) GTEST_SKIP() << "this build has no chart libraries (npm was missing)";
  }
};

// Returns false if the selector is not reached within 200 presses of Tab.
bool tab_to(DrivenPage& page, const std::string& selector) {
  for (int presses = 0; presses < 200; ++presses) {
    if (page.evaluate("document.activeElement.matches(`" + selector + "`)") == true) return true;
    page.press("Tab");
  }
  return false;
}

const std::string kFaint =
    "[...document.querySelectorAll('#efficiency-0 .mark-symbol path')]"
    ".filter((one) => Number(one.getAttribute('opacity') ?? one.style.opacity ?? 1) < 0.5).length";

TEST_F(Keyboard, TabComesToEveryControlInItsOrderAndShowsIt) {
  DrivenPage page(wide_page());
  page.prefer("prefers-reduced-motion", "reduce");
  const int controls = page.evaluate(kNumberControls);
  EXPECT_GE(controls, 40);
  for (int number = 0; number < controls; ++number) {
    page.press("Tab");
    const json focus = page.evaluate(kFocus);
    ASSERT_EQ(focus["number"], number) << focus["what"];
    EXPECT_TRUE(focus["outlined"]) << focus["what"];
    EXPECT_TRUE(focus["free"]) << focus["what"];
  }
}

TEST_F(Keyboard, TheFirstTabLeadsPastTheLinksToTheAnswer) {
  DrivenPage page(wide_page());
  page.press("Tab");
  EXPECT_EQ(page.evaluate("document.activeElement.textContent"), "Skip to the answer");
  EXPECT_TRUE(page.evaluate("document.activeElement.getBoundingClientRect().left >= 0"));
  page.press("Enter");
  page.press("Tab");
  EXPECT_TRUE(page.evaluate("document.activeElement.matches('section.answer .glance [data-format=svg]')"));
}

TEST_F(Keyboard, EnterAndSpaceIsolateAStrategy) {
  DrivenPage page(wide_page());
  ASSERT_TRUE(tab_to(page, ".legend button[data-series=together]"));
  EXPECT_EQ(page.evaluate(kFaint), 0);
  page.press("Enter");
  EXPECT_TRUE(page.becomes_true(kFaint + " === 1"));
  EXPECT_EQ(page.evaluate("document.activeElement.getAttribute('aria-pressed')"), "true");
  page.press("Space");
  EXPECT_TRUE(page.becomes_true(kFaint + " === 0"));
  EXPECT_EQ(page.evaluate("document.activeElement.getAttribute('aria-pressed')"), "false");
}

// Of twelve strategies six are highlighted. The other six have two points each, as grey as the baseline's point.
TEST_F(Keyboard, EnterBringsTheCrowdInAndOutOfColour) {
  DrivenPage page(page_of(crowded_run()));
  const std::string grey =
      "[...document.querySelectorAll('#efficiency-0 .mark-symbol path')]"
      ".filter((one) => getComputedStyle(one).fill === 'rgb(138, 138, 138)').length";
  const std::string rows = "document.querySelectorAll('#breakdown-0 .role-axis-label text').length";
  const std::string named = "[...document.querySelectorAll('.legend [data-series]')].filter((one) => one.checkVisibility()).length";
  EXPECT_EQ(page.evaluate(grey), 13);
  EXPECT_EQ(page.evaluate(named), 7);
  const int few = page.evaluate(rows);
  ASSERT_TRUE(tab_to(page, "#everyone"));
  page.press("Enter");
  EXPECT_TRUE(page.becomes_true(grey + " === 1"));
  EXPECT_EQ(page.evaluate(named), 13);
  EXPECT_TRUE(page.becomes_true(rows + " === " + std::to_string(few + 12)));
  EXPECT_EQ(page.evaluate("document.activeElement.getAttribute('aria-pressed')"), "true");
  page.press("Enter");
  EXPECT_TRUE(page.becomes_true(grey + " === 13"));
  EXPECT_EQ(page.evaluate(named), 7);
}

TEST_F(Keyboard, ArrowsChooseWhatCounts) {
  DrivenPage page(wide_page());
  const std::string shown = "[...document.querySelectorAll('.findings')].findIndex((one) => one.checkVisibility())";
  ASSERT_TRUE(tab_to(page, "input[name=objective]"));
  EXPECT_EQ(page.evaluate(shown), 0);
  page.press("ArrowRight");
  EXPECT_EQ(page.evaluate(shown), 1);
  EXPECT_EQ(page.evaluate("document.activeElement.id"), "objective-throughput");
}

// With the page's content security policy in force.
TEST_F(Keyboard, EnterSavesAChart) {
  DrivenPage page(wide_page());
  ASSERT_TRUE(tab_to(page, "[data-chart=efficiency-0][data-format=svg]"));
  page.press("Enter");
  // The accessible name, and which line belongs to which series.
  const std::string svg = page.saved("efficiency-0.svg");
  EXPECT_THAT(svg, StartsWith("<svg"));
  for (const char* part : {"Efficiency, global batch 128", "role-legend", "together"}) EXPECT_THAT(svg, HasSubstr(part));
  EXPECT_TRUE(page.becomes_true("document.getElementById('said').textContent === 'Saved efficiency-0.svg'"));
  page.press("Tab");
  page.press("Space");
  EXPECT_THAT(page.saved("efficiency-0.png"), StartsWith("\x89PNG"));
}

TEST_F(Keyboard, EnterOpensTablesAndAChartLeadsToItsOwn) {
  DrivenPage page(wide_page());
  const std::string table = "document.getElementById('table-speed-up-and-efficiency')", opened = table + ".closest('details').open";
  ASSERT_TRUE(tab_to(page, "#scaling details:has(#table-speed-up-and-efficiency) > summary"));
  EXPECT_FALSE(page.evaluate(opened));
  page.press("Enter");
  EXPECT_TRUE(page.evaluate(opened));
  page.press("Space");
  EXPECT_FALSE(page.evaluate(opened));
  ASSERT_TRUE(tab_to(page, "#scaling .as-table a"));
  page.press("Enter");
  EXPECT_TRUE(page.becomes_true(opened));
  EXPECT_TRUE(page.becomes_true("document.activeElement === " + table));
}

std::string text_of(const json& node, const char* property) {
  return node.contains(property) ? node[property].value("value", json("")).get<std::string>() : "";
}

TEST_F(Keyboard, AScreenReaderIsToldWhatEverythingIs) {
  DrivenPage page(wide_page());
  page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
  const std::set<std::string> named = {"button", "link", "radio", "radiogroup", "region", "figure", "table", "image",
                                       "graphics-document", "graphics-symbol", "navigation",
                                       "DisclosureTriangle", "columnheader", "rowheader", "heading"};
  std::map<std::string, int> seen;
  std::set<std::string> saves;
  int level = 0;
  for (const json& node : page.accessibility_tree()) {
    const std::string role = text_of(node, "role"), name = text_of(node, "name");
    ++seen[role];
    EXPECT_TRUE(!name.empty() || !named.contains(role)) << node;
    // Internal names of the drawing library must not be exposed.
    EXPECT_THAT(name, Not(HasSubstr("upper_low"))) << node;
    EXPECT_TRUE(role != "figure" || !text_of(node, "description").empty()) << node;
    EXPECT_TRUE(role != "button" || !name.starts_with("Save ") || saves.insert(name).second) << name;
    if (role != "heading") continue;
    for (const json& property : node["properties"]) {
      if (property["name"] != "level") continue;
      const int own = property["value"]["value"];
      EXPECT_LE(own, level + 1) << name;
      EXPECT_EQ(own == 1, level == 0) << name;
      level = own;
    }
  }
  EXPECT_EQ(json(seen["figure"]), page.evaluate("document.querySelectorAll('.chart').length"));
  EXPECT_EQ(saves.size(), 2u * static_cast<std::size_t>(seen["figure"]));
  EXPECT_EQ(json(seen["table"]), page.evaluate("document.querySelectorAll('table').length"));
  EXPECT_EQ(seen["radio"], 3);
  EXPECT_GT(seen["rowheader"], seen["table"]);
}

TEST_F(Keyboard, TextAndCurvesStandOutInLightAndDark) {
  DrivenPage page(wide_page());
  page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
  for (const char* scheme : {"light", "dark"}) {
    page.prefer("prefers-color-scheme", scheme);
    const json found = page.evaluate(kPale);
    EXPECT_GT(found["seen"], 500);
    EXPECT_EQ(found["pale"], json::array()) << scheme;
  }
}

TEST_F(Keyboard, NothingMovesForWhoAsksForThat) {
  DrivenPage page(wide_page());
  const std::string behavior = "getComputedStyle(document.documentElement).scrollBehavior";
  EXPECT_EQ(page.evaluate(behavior), "smooth");
  page.prefer("prefers-reduced-motion", "reduce");
  EXPECT_EQ(page.evaluate(behavior), "auto");
  EXPECT_EQ(page.evaluate("document.getAnimations().length"), 0);
}

// The first to reach the target, the highest samples/s, and the best exact strategy, which is the first here; then the
// others by rank.
TEST(Series, AFewLeadACrowdByTheirFigures) {
  const mgcompare::Run run = crowded_run();
  std::set<std::string> leaders, looks;
  for (const Series& one : all_series(compare_rows(run))) {
    if (one.leads) leaders.insert(one.name), looks.insert(one.color);
  }
  EXPECT_EQ(leaders, (std::set<std::string>{"alone", "s0", "s1", "s2", "s3", "s4", "s11"}));
  EXPECT_EQ(looks.size(), leaders.size());
  for (const Series& one : all_series(compare_rows(wide_run()))) EXPECT_TRUE(one.leads) << one.name;
}

// Every series of the page must be distinguishable from the background.
TEST(Series, KeepTheirDistanceFromLightAndDarkGround) {
  RunMaker maker;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) maker.add(name, 1, 1, make_result(1000, 5, 0.98));
  const auto light = [](const std::string& color) {
    double sum = 0;
    for (const auto& [at, share] : {std::pair(1, 0.2126), std::pair(3, 0.7152), std::pair(5, 0.0722)}) {
      const double part = std::stoi(color.substr(static_cast<std::size_t>(at), 2), nullptr, 16) / 255.0;
      sum += share * (part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
  };
  const std::vector<Series> all = all_series(compare_rows(maker.run));
  EXPECT_EQ(all.size(), 6u);
  for (const Series& one : all) {
    EXPECT_GE((light("#ffffff") + 0.05) / (light(one.color) + 0.05), 3) << one.color;
    EXPECT_GE((light(one.color) + 0.05) / (light("#12161b") + 0.05), 3) << one.color;
  }
}

}  // namespace
}  // namespace mgcompare
