// `measure:` and the settings that it implies.

#include <gmock/gmock.h>

#include "tests/config/workspace.h"

namespace mgcompare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Measure : public Workspace {};

TEST_F(Measure, QuickIsTheFirstSeed) {
  EXPECT_THAT(read(kGood + "seeds: [4, 5, 6]\nmeasure: quick\n").seeds, ElementsAre(4));
  EXPECT_THAT(read(kGood + "seeds: [4, 5, 6]\n").seeds, ElementsAre(4, 5, 6));
}

TEST_F(Measure, ThoroughIsTenSeedsOrMore) {
  const std::string given = kGood + "seeds: [3, 1]\n";
  for (const char* level : {"measure: thorough\n", "measure: {level: thorough, warm_up_steps: 5}\n"})
    EXPECT_THAT(read(given + level).seeds, ElementsAre(3, 1, 2, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(read(kGood + "seeds: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]\nmeasure: thorough\n").seeds.size(), 11u);
}

TEST_F(Measure, CanBeSetOnTheCommandLineAndInWhenCpu) {
  EXPECT_EQ(read(kGood, {.overrides = {"measure=thorough"}}).seeds.size(), 10u);
  EXPECT_EQ(read(kGood, {.overrides = {"measure.level=thorough"}}).measure.level, MeasureLevel::thorough);
  EXPECT_THAT(read(kGood + "seeds: [1, 2]\nwhen_cpu: {measure: quick}\n").seeds, ElementsAre(1));
}

TEST_F(Measure, ReadBackIsEqual) {
  const Config config = read(kGood + "seeds: [2]\nmeasure: thorough\n");
  EXPECT_EQ(config_hash(read(resolved_yaml(config))), config_hash(config));
}

TEST_F(Measure, RefusesOtherWords) {
  EXPECT_THAT(complaint(kGood + "measure: thorogh\n"), HasSubstr("did you mean 'thorough'?"));
  EXPECT_THAT(complaint(kGood + "measure: [quick]\n"), HasSubstr("must be a section of keys"));
}

}  // namespace
}  // namespace mgcompare
