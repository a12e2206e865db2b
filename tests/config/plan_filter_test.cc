#include <gmock/gmock.h>

#include "plan/plan.h"
#include "tests/config/planning.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST_F(Planning, FiltersTrials) {
  Plan made = plan(
      "strategies: [single, sums, {sums: {every: 2, as: rarely}}]\nscaling: {batch: [32, 64]}\n"
      "seeds: [1, 2]\nvariants: [{name: v, set: {epochs: 3}}]");
  made.trials = in_blocks(made.trials);
  ASSERT_THAT(made.trials, SizeIs(2 * 2 * 2 * (1 + 3 + 3)));
  EXPECT_THAT(only(made, "strategy=single"), SizeIs(8));
  EXPECT_THAT(only(made, "strategy=sums"), SizeIs(48));
  EXPECT_THAT(only(made, "strategy=rarely"), SizeIs(24));
  EXPECT_THAT(only(made, "strategy=rarely,strategy=single"), SizeIs(32));
  EXPECT_THAT(only(made, "strategy=rarely,devices=2:4,batch=64,variant=v,seed=1"), SizeIs(2));
  EXPECT_THAT(only(made, "strategy=rarely,devices=cpu:2,variant=base"), SizeIs(4));
  EXPECT_THAT(only(made, "devices=cpu"), SizeIs(56));
  const auto chosen = only(made, "seed=2");
  EXPECT_EQ(chosen.front().number, made.trials[28].number);

  const auto told = [&](const std::string& filter) -> std::string {
    try {
      only(made, filter);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(told("strategie=sums"), "--only strategie=sums: there is no key 'strategie'; did you mean 'strategy'?");
  EXPECT_EQ(told("batch=65"), "--only batch=65: no trial has batch '65'; there are 32 and 64");
  EXPECT_EQ(told("variant=w"), "--only variant=w: no trial has variant 'w'; there are base and v");
  EXPECT_THAT(told("devices=5:8"), HasSubstr("there are cpu:1, cpu:2 and cpu:4"));
  EXPECT_THAT(told("single"), HasSubstr("'single' is not KEY=VALUE"));
  EXPECT_THAT(told(""), HasSubstr("is not KEY=VALUE"));
  EXPECT_THAT(told("strategy=single,sums"), HasSubstr("'sums' is not KEY=VALUE; each value has its own key: strategy=sums"));
  EXPECT_THAT(told("strategy=single,devices=4"), HasSubstr("no trial matches all conditions"));
}

TEST_F(Planning, FiltersByNamesWithCommas) {
  const Plan made = plan(
      "strategies: [sums, {sums: {every: 2, as: 'sums, rarely'}}, {sums: {every: 3, as: 'back\\slash, \"x\"=1'}}]\n"
      "variants: [{name: 'slow, small', set: {epochs: 3}}]");
  const std::size_t all = made.trials.size();
  ASSERT_EQ(all % 3, 0u);
  EXPECT_THAT(only(made, "strategy=sums"), SizeIs(all));
  EXPECT_THAT(only(made, "as=sums"), SizeIs(all / 3));
  for (const Trial& trial : made.trials) {
    for (const Trial& found : only(made, "as=" + in_filter(trial.strategy.label)))
      EXPECT_EQ(found.strategy.label, trial.strategy.label);
  }
  EXPECT_THAT(only(made, "variant=slow\\, small"), SizeIs(all / 2));
  EXPECT_THROW(only(made, "variant=slow, small"), Error);
}

}  // namespace
}  // namespace mgcompare
