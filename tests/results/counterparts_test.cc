// `compare` of runs that trained with different frameworks.

#include "reports/counterparts.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "reports/framework.h"
#include "reports/regression.h"
#include "results/framework_runs.h"

namespace mgcompare {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

mgcompare::Run own(double factor = 1) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double noise = factor * (1 + 0.001 * static_cast<double>(seed));
    maker.baseline(seed, paced(1000 * noise));
    maker.add("together", 2, seed, paced(1600 * noise));
  }
  return maker.run;
}

mgcompare::Run foreign(const std::string& second = "", double factor = 1) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double noise = factor * (1 + 0.001 * static_cast<double>(seed));
    add_foreign(maker, "T eager", 1, seed, paced(800 * noise), "alone");
    add_foreign(maker, "T pair", 2, seed, paced(1500 * noise), "together");
    if (!second.empty()) add_foreign(maker, "T more", 2, seed, paced(1400 * noise), second == "nothing" ? "" : second);
  }
  return maker.run;
}

struct Compared {
  mgcompare::Run before, after;
  Comparison one = compare_rows(before), other = compare_rows(after);
  Regression regression = compare_runs(one, other);
};

TEST(Counterparts, OfAnotherFrameworkAreCompared) {
  const Compared both{own(), foreign()};
  ASSERT_THAT(both.regression.rows, SizeIs(2));
  EXPECT_THAT(both.regression.only_before, IsEmpty());
  EXPECT_THAT(both.regression.only_after, IsEmpty());
  const RowChange& pair = both.regression.rows[1];
  EXPECT_EQ(pair.before->series, "together");
  EXPECT_EQ(pair.after->series, "T pair");
  EXPECT_NEAR(pair.speed.ratio.median, 1500.0 / 1600, 1e-9);
  EXPECT_EQ(pair.change, Change::worse);
  EXPECT_FALSE(pair.by_baseline);
  EXPECT_NEAR(pair.speed.own_before.median, 1.6, 1e-9);
  EXPECT_NEAR(pair.speed.own_after.median, 1.875, 1e-9) << "against one device of its own framework";
  EXPECT_THAT(both.regression.warnings, Contains(HasSubstr("Rows that compute in the same way compare mgcompare with Torchlike 2.1: absolute figures decide")));
  EXPECT_THAT(both.regression.warnings, Not(Contains(HasSubstr("baseline itself"))));
  EXPECT_TRUE(has_regressed(both.regression, 0.05));
  EXPECT_FALSE(has_regressed(both.regression, 0.25));
  const Regression back = Compared{foreign(), own()}.regression;
  EXPECT_FALSE(has_regressed(back, 0.05));
  EXPECT_THAT(back.warnings, Not(Contains(HasSubstr("baseline itself")))) << "another framework is no other machine";
  EXPECT_EQ(back.rows.at(0).change, Change::better);
}

TEST(Counterparts, AreInTheTableAndInJson) {
  const Compared both{own(), foreign()};
  EXPECT_EQ(regression_table(both.regression).lines[1][0], "T pair on 2 CPU cores, batch 128 (before: together)");
  const nlohmann::json row = nlohmann::json::parse(regression_json(both.regression, "a", "b"))["rows"][1];
  EXPECT_EQ(row["row"], both.regression.rows[1].after->name);
  EXPECT_EQ(row["row_before"], "together cpu:2 batch 128");
  EXPECT_EQ(row["framework"], "Torchlike");
  EXPECT_EQ(row["framework_before"], "mgcompare");
  EXPECT_EQ(row["decided_by"], "absolute");
}

TEST(Counterparts, MustBeTheOnlyOnes) {
  const Compared both{own(), foreign("together")};
  EXPECT_THAT(both.regression.rows, SizeIs(1));
  EXPECT_THAT(both.regression.warnings,
              Contains(HasSubstr("More than one row of a run computes like together, so none of them is compared with another framework: together on 2 CPU cores")));
  EXPECT_THAT(both.regression.only_after, SizeIs(2));
}

TEST(Counterparts, NeedAStrategyAndARow) {
  EXPECT_THAT((Compared{own(), foreign("nothing")}.regression.warnings), Contains(HasSubstr("It is not known which strategy computes in the same way")));
  EXPECT_THAT((Compared{own(), foreign("apart")}.regression.warnings), Contains(HasSubstr("Only one of the runs has such a row, in its own or another framework")));
}

TEST(Counterparts, AreNotNeededForRowsOfBothRuns) {
  mgcompare::Run all = own();
  for (const Row& row : foreign().rows) all.rows.push_back(row);
  const Compared both{own(), all};
  EXPECT_THAT(both.regression.rows, SizeIs(2));
  EXPECT_THAT(both.regression.only_after, SizeIs(2));
  for (const RowChange& row : both.regression.rows) EXPECT_FALSE(row.has_frameworks());
}

TEST(Counterparts, ARenamedRowIsNone) {
  mgcompare::Run renamed = own();
  for (Row& row : renamed.rows) row.trial.strategy.label += " again";
  const Compared both{own(), renamed};
  EXPECT_THAT(both.regression.rows, IsEmpty());
  EXPECT_THAT(both.regression.warnings, Not(Contains(HasSubstr("computes in the same way"))));
}

TEST(Counterparts, ALostRowIsNotReplaced) {
  mgcompare::Run after = foreign();
  RunMaker maker;
  maker.run = after;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) maker.failed("together", 2, seed, "crashed", "SIGSEGV");
  const Compared both{own(), maker.run};
  EXPECT_THAT(both.regression.lost, SizeIs(1));
  EXPECT_THAT(both.regression.rows, SizeIs(1));
}

TEST(Counterparts, AFrameworkThatBecameSlowerIsARegression) {
  // The machine is the same: the program's own baseline shows it.
  const auto with_own = [](double factor, double machine = 1) {
    mgcompare::Run run = own(machine);
    for (const Row& row : foreign("", factor * machine).rows) run.rows.push_back(row);
    return run;
  };
  const Compared both{with_own(1), with_own(0.8)};
  ASSERT_THAT(both.regression.rows, SizeIs(4));
  for (const RowChange& row : both.regression.rows) EXPECT_EQ(row.change, row.after->is_own ? Change::same : Change::worse) << row.after->name;
  // On a machine that is half as fast the ratio to the program's own baseline tells the same.
  const Compared slower{with_own(1), with_own(0.8, 0.5)}, equal{with_own(1), with_own(1, 0.5)};
  for (std::size_t i = 2; i < 4; ++i) {
    EXPECT_EQ(slower.regression.rows.at(i).change, Change::worse) << i;
    EXPECT_EQ(equal.regression.rows.at(i).change, Change::same) << i;
  }
}

TEST(Counterparts, OtherVersionsAreToldOf) {
  mgcompare::Run later = foreign();
  for (Row& row : later.rows) row.result.versions["cuda"] = "12.8";
  EXPECT_THAT(
      (Compared{foreign(), later}.regression.warnings),
      Contains(
          "The runs were trained with different versions of Torchlike: 2.1 (cuda 12.6, torchlike 2.1.0+cu126) and 2.1 (cuda 12.8, torchlike 2.1.0+cu126)"));
  EXPECT_THAT((Compared{foreign(), foreign()}.regression.warnings), Not(Contains(HasSubstr("versions of"))));
}

}  // namespace
}  // namespace mgcompare
