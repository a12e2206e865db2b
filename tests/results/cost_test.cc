#include "reports/cost.h"

#include <gmock/gmock.h>

#include "reports/csv.h"
#include "reports/html.h"
#include "reports/markdown.h"
#include "reports/summary.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr double kPrice = 36;  // 0.01 for a second of one device

Run priced(Run run) {
  run.info.config_json = R"({"name": "small", "price_per_device_hour": 36})";
  return run;
}

// One device takes 8 s to the target, two take `seconds`; each repeat is 1 % faster than the one before.
Run one_or_two(double seconds) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double noise = 1 + 0.01 * static_cast<double>(seed - 1);
    maker.baseline(seed, make_result(1000 * noise, 8 / noise, 0.985));
    maker.add("together", 2, seed, make_result(1600 * noise, seconds / noise, 0.984));
  }
  return priced(maker.run);
}

TEST(Cost, IsThePriceOfTheDevicesUntilTheTarget) {
  const auto run = priced(three_by_three());
  const Comparison comparison = compare_rows(run);
  EXPECT_DOUBLE_EQ(comparison.price_per_device_hour, kPrice);
  EXPECT_DOUBLE_EQ(cost_of(comparison, comparison.cells[0]).most, 8 * 0.01);
  EXPECT_DOUBLE_EQ(cost_of(comparison, comparison.cells[1]).most, 2 * 5 * 0.01);
  EXPECT_EQ(cost_of(comparison, comparison.cells[2]).count, 0) << "separate models reach no target";
}

TEST(Cost, WithoutATargetIsThatOfTheTraining) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 0, 0.9));
  const auto run = priced(maker.run);
  const Comparison comparison = compare_rows(run);
  EXPECT_EQ(cost_scope(comparison), "of the training");
  EXPECT_DOUBLE_EQ(cost_of(comparison, comparison.cells[0]).median, 10 * 0.01);
}

TEST(Cost, NamesTheCheapestRow) {
  const std::string text = closing_summary(one_or_two(3), {});
  EXPECT_THAT(text, HasSubstr("Cheapest to 97 %: together on 2 CPU cores, batch 128, at 0.0594 [0.0588 .. 0.06]\n"));
  EXPECT_THAT(text, HasSubstr("accuracy  to 97 %    cost  samples/s"));
  EXPECT_THAT(text, HasSubstr("0.9840   2.97 s  0.0594"));
}

TEST(Cost, PrefersFewerDevicesWithinNoise) {
  const std::string text = closing_summary(one_or_two(3.98), {});
  EXPECT_THAT(text, HasSubstr("Cheapest to 97 %: alone on 1 CPU core, batch 128, at 0.0792 [0.0784 .. 0.08]; within its noise: together on 2 CPU cores"));
}

TEST(Cost, OfOneRepeatClaimsNothingMore) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  EXPECT_THAT(closing_summary(priced(maker.run), {}), HasSubstr("at 0.08 (fewer than three repeats)\n"));
}

TEST(Cost, IsInEveryReport) {
  const auto run = priced(three_by_three());
  EXPECT_THAT(markdown_report(compare_rows(run)),
              AllOf(HasSubstr("## Cost to 97 %"), HasSubstr(R"(| 0.0792 \[0.0784 .. 0.08\] | 1.00 \[1.00 .. 1.00\] | cheapest |)")));
  EXPECT_THAT(html_report(compare_rows(run), ""), AllOf(HasSubstr("Cheapest to 97 %"), HasSubstr("Cost to 97 %")));
  const nlohmann::json json = nlohmann::json::parse(json_text(run));
  EXPECT_EQ(json["price_per_device_hour"], 36);
  EXPECT_DOUBLE_EQ(json["rows"][1]["cost"]["most"].get<double>(), 0.1);
  EXPECT_TRUE(json["rows"][0]["cheapest"].get<bool>());
  EXPECT_FALSE(json["rows"][1]["cheapest"].get<bool>());
  const std::string csv = csv_report(run);
  EXPECT_THAT(csv, HasSubstr(",price_per_device_hour,cost,cost_to_target,data,"));
  EXPECT_THAT(csv, HasSubstr(",36,0.1,0.08,mnist,"));
}

TEST(Cost, IsNowhereWithoutAPrice) {
  const auto run = three_by_three();
  EXPECT_THAT(markdown_report(compare_rows(run)), Not(HasSubstr("Cost to")));
  EXPECT_THAT(closing_summary(run, {}), AllOf(Not(HasSubstr("Cheapest")), Not(HasSubstr("cost"))));
  EXPECT_TRUE(nlohmann::json::parse(json_text(run))["price_per_device_hour"].is_null());
  EXPECT_THAT(csv_report(run), HasSubstr(",,,,mnist,"));
}

TEST(Cost, TakesNoPriceThatIsNone) {
  for (const char* config : {R"({"price_per_device_hour": -1})", R"({"price_per_device_hour": "2"})", R"({"price_per_device_hour": 1e999})", "[]", ""}) {
    auto run = three_by_three();
    run.info.config_json = config;
    EXPECT_EQ(price_of(run), 0) << config;
  }
}

}  // namespace
}  // namespace mgcompare
