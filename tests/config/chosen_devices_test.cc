// `scaling.devices: [{ids: [0, 2]}]`.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/config/planning.h"

namespace mgcompare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::map<std::string, Trial> rows_of(const Plan& plan) {
  std::map<std::string, Trial> rows;
  for (const Trial& trial : in_blocks(plan.trials))
    if (trial.is_repeat()) rows.emplace(row_name(trial), trial);
  return rows;
}

std::vector<std::string> names_of(const std::map<std::string, Trial>& rows) {
  std::vector<std::string> names;
  for (const auto& [name, trial] : rows) names.push_back(name);
  return names;
}

TEST_F(Planning, ChosenDevicesAreRowsOfTheirOwn) {
  const auto rows = rows_of(plan("strategies: [single, sums]\nscaling: {devices: [2, {ids: [3, 1]}, {ids: [0, 2], kind: cpu}]}", 4, 4));
  EXPECT_THAT(names_of(rows), ::testing::UnorderedElementsAre("single cuda:1 batch 128", "single cpu:[0] batch 128", "sums cuda:2 batch 128",
                                                              "sums cuda:[3+1] batch 128", "sums cpu:[0+2] batch 128"));
  const Trial& chosen = rows.at("sums cuda:[3+1] batch 128");
  EXPECT_EQ(chosen.devices, 2u);
  EXPECT_EQ(chosen.index_of(0), 3) << "rank 0 is on the first one of the list";
  EXPECT_EQ(chosen.index_of(1), 1);
  const Trial copy = nlohmann::json(chosen).get<Trial>();
  EXPECT_THAT(copy.ids, ElementsAre(3, 1));
  EXPECT_FALSE(nlohmann::json(rows.at("sums cuda:2 batch 128")).contains("ids")) << "other trials are stored as ever";
}

TEST_F(Planning, TheBaselineIsOnAChosenDeviceWhereAllAreChosen) {
  EXPECT_THAT(names_of(rows_of(plan("strategies: [single, sums]\nscaling: {devices: [{ids: [2, 3]}, {ids: [1, 3]}]}", 4))),
              ElementsAre("single cpu:[2] batch 128", "sums cpu:[1+3] batch 128", "sums cpu:[2+3] batch 128"));
}

TEST_F(Planning, EachDeviceThatIsChosenAloneHasARowOfTheBaseline) {
  EXPECT_THAT(names_of(rows_of(plan("strategies: [single]\nscaling: {devices: [{ids: 0}, {ids: [2]}]}", 4))),
              ElementsAre("single cpu:[0] batch 128", "single cpu:[2] batch 128"));
  EXPECT_THAT(names_of(rows_of(plan("strategies: [single]\nscaling: {devices: [1, {ids: [2]}]}", 4))),
              ElementsAre("single cpu:1 batch 128", "single cpu:[2] batch 128"));
}

TEST_F(Planning, MissingDevicesAreNamed) {
  const auto rows = rows_of(plan("strategies: [sums]\nscaling: {devices: [{ids: [1, 4]}, 1]}", 4));
  EXPECT_EQ(rows.at("sums cpu:[1+4] batch 128").unavailable, "asked for cpu:4, have 4 from 0 on");
}

TEST_F(Planning, OnlySelectsChosenDevices) {
  const Plan made = plan("strategies: [sums]\nscaling: {devices: [2, {ids: [0, 2]}]}", 4);
  const auto selected = [&](const std::string& filter) {
    std::vector<std::string> names;
    for (const Trial& trial : only(made, filter)) names.push_back(row_name(trial));
    return names;
  };
  EXPECT_THAT(selected("devices=[0+2]"), ElementsAre("sums cpu:[0+2] batch 128"));
  EXPECT_THAT(selected("devices=cpu:[0+2]"), ElementsAre("sums cpu:[0+2] batch 128"));
  EXPECT_THAT(selected("devices=2"), ElementsAre("sums cpu:2 batch 128"));
}

TEST_F(Planning, ChosenDevicesSurviveTheResolvedConfig) {
  const Config first = config("strategies: [sums]\nscaling: {devices: [{ids: [0, 2]}, {ids: 1, kind: cpu}]}");
  const auto again = nlohmann::json(first).get<Config>();
  ASSERT_EQ(again.scaling.devices.size(), 2u);
  EXPECT_THAT(again.scaling.devices[0].ids, ElementsAre(0, 2));
  EXPECT_EQ(again.scaling.devices[0].kind, "auto");
  EXPECT_THAT(again.scaling.devices[1].ids, ElementsAre(1));
  EXPECT_EQ(again.scaling.devices[1].kind, "cpu");
}

TEST_F(Workspace, WrongChoicesOfDevicesAreRefusedInASentence) {
  const auto of = [&](const std::string& devices) { return complaint(kGood + "scaling: {devices: [" + devices + "]}"); };
  EXPECT_THAT(of("{ids: [0, 0]}"), HasSubstr("'ids' of 'scaling.devices' has 0 twice"));
  EXPECT_THAT(of("{ids: []}"), HasSubstr("'ids' of 'scaling.devices' is an empty list"));
  for (const char* wrong : {"-1", "x", "1.5", "5000", "[1]"})
    EXPECT_THAT(of(std::string("{ids: [") + wrong + "]}"), HasSubstr("'ids' of 'scaling.devices' has the numbers of devices from 0 to 4095")) << wrong;
  EXPECT_THAT(of("{ids: [0], kind: tpu}"), HasSubstr("not 'kind: tpu'"));
  EXPECT_THAT(of("{ids: [0], count: 2}"), HasSubstr("not 'count: 2'"));
  EXPECT_THAT(of("{ids: [0, 1]}, {ids: [0, 1]}"), HasSubstr("{ids: [0, 1]} is given twice"));
}

}  // namespace
}  // namespace mgcompare
