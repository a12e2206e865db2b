#include "plan/rehearsals.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/config/planning.h"

namespace mgcompare {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Rehearsals : public Planning {
 protected:
  // Their numbers of devices, by strategy.
  static std::map<std::string, std::set<std::size_t>> counts(const std::vector<Trial>& trials) {
    std::map<std::string, std::set<std::size_t>> all;
    for (const Trial& trial : trials)
      if (trial.rehearsal) all[trial.strategy.label].insert(trial.devices);
    return all;
  }
};

TEST_F(Rehearsals, AreOfRowsAndOfMoreDevicesThanThereAre) {
  const Plan all = plan("strategies: [single, sums, own_pace, precise]\nscaling: {devices: [1, 3], batch: [12, 64]}\nmeasure: {rehearse: always}");
  const auto found = counts(all.trials);
  ASSERT_EQ(found.size(), 2u) << "the baseline has one rank, and free pace needs other ranks";
  EXPECT_THAT(found.at("sums"), ElementsAre(3, 6, 12, 24));
  EXPECT_THAT(found.at("precise"), ElementsAre(3, 6, 12, 24));
  std::set<int> numbers;
  for (const Trial& trial : all.trials) {
    EXPECT_TRUE(numbers.insert(trial.number).second);
    if (!trial.rehearsal) continue;
    EXPECT_LE(trial.devices, trial.global_batch) << "each rank needs a sample";
    EXPECT_EQ(trial.devices_used(), 1u);
    EXPECT_FALSE(trial.is_repeat());
    EXPECT_EQ(trial.config.epochs, 2u);
    EXPECT_TRUE(trial.traits.empty()) << "they may depend on the number of epochs";
    const std::size_t rank = trial.rehearsed_rank;
    EXPECT_TRUE(row_name(trial).ends_with(rank == 0 ? " (rehearsal)" : " (rehearsal of rank " + std::to_string(rank) + ")")) << row_name(trial);
    const TrialKey read = nlohmann::json(static_cast<TrialKey>(trial)).get<TrialKey>();
    EXPECT_TRUE(read.rehearsal);
    EXPECT_EQ(read.rehearsed_rank, rank);
  }
}

TEST_F(Rehearsals, AreOfTheFirstAndTheLastRank) {
  std::map<std::size_t, std::vector<std::size_t>> ranks;
  for (const Trial& trial : plan("strategies: [single, sums]\nscaling: {devices: [1, 3]}\nseeds: [1]\nmeasure: {rehearse: always}").trials)
    if (trial.rehearsal) ranks[trial.devices].push_back(trial.rehearsed_rank);
  EXPECT_THAT(ranks, ElementsAre(testing::Pair(3, ElementsAre(0, 2)), testing::Pair(6, ElementsAre(0, 5)), testing::Pair(12, ElementsAre(0, 11)),
                                 testing::Pair(24, ElementsAre(0, 23))));
}

TEST_F(Rehearsals, OfARankThatIsNotThereAreRefused) {
  TrialKey trial;
  trial.devices = 3;
  trial.rehearsal = true;
  trial.rehearsed_rank = 3;
  EXPECT_THROW(nlohmann::json(trial).get<TrialKey>(), Error);
}

TEST_F(Rehearsals, NeedOneDeviceOnly) {
  EXPECT_THAT(counts(plan("strategies: [single, sums]\nscaling: {devices: [1]}\nmeasure: {rehearse: always}", 1).trials).at("sums"), ElementsAre(2, 4, 8));
  EXPECT_THAT(counts(plan("strategies: [single, sums]\nscaling: {devices: [1, 2]}\nmeasure: {rehearse: always}", 1).trials).at("sums"), ElementsAre(2, 4, 8))
      << "two devices are not there";
  EXPECT_THAT(counts(plan("strategies: [single, sums]\nscaling: {devices: [1, 3]}\nmeasure: {rehearse: always}", 1).trials).at("sums"), ElementsAre(2, 3, 4, 8))
      << "whoever lists three wants to know of three";
}

TEST_F(Rehearsals, AreMadeOnceForEachKindOfDevice) {
  EXPECT_THAT(counts(plan("strategies: [sums]\nscaling: {devices: [{ids: [1]}, {ids: [2]}], batch: 64}\nmeasure: {rehearse: always}").trials).at("sums"),
              ElementsAre(2, 4, 8));
  std::set<std::string> names;
  for (const Trial& trial : plan("strategies: [sums]\nscaling: {devices: [{ids: [1]}, {ids: [2]}], batch: 64}\nmeasure: {rehearse: always}").trials)
    if (trial.rehearsal) {
      EXPECT_TRUE(names.insert(row_name(trial)).second) << row_name(trial);
    }
}

TEST_F(Rehearsals, HaveOneRankForEachDeviceAndWholeBatches) {
  EXPECT_THAT(counts(plan("strategies: [single, sums]\nscaling: {devices: [1, 2], ranks_per_device: 2}\nmeasure: {rehearse: always}").trials), IsEmpty());
  // Of 60,000 samples, 20,000 for each device.
  EXPECT_THAT(counts(plan("strategies: [single, sums]\nscaling: {mode: weak, devices: [1, 2], batch: 20000}\nmeasure: {rehearse: always}").trials).at("sums"),
              ElementsAre(2));
}

TEST_F(Rehearsals, BelongToThoroughMeasurements) {
  EXPECT_THAT(counts(plan("strategies: [single, sums]\nscaling: {devices: [1, 2]}").trials), IsEmpty());
  EXPECT_FALSE(counts(plan("strategies: [single, sums]\nscaling: {devices: [1, 2]}\nmeasure: thorough").trials).empty());
  EXPECT_THAT(counts(plan("strategies: [single, sums]\nscaling: {devices: [1, 2]}\nmeasure: {level: thorough, rehearse: never}").trials), IsEmpty());
}

TEST_F(Rehearsals, OfChosenRowsAreChosen) {
  const Plan all = plan("strategies: [single, sums, precise]\nscaling: {devices: [1, 2], batch: [32, 64]}\nmeasure: {rehearse: always}");
  const std::vector<Trial> chosen = only(all, "strategy=sums,batch=64,devices=2");
  EXPECT_THAT(counts(chosen).at("sums"), ElementsAre(2, 4, 8, 16));
  for (const Trial& trial : chosen) EXPECT_EQ(trial.global_batch, 64u);
  EXPECT_EQ(counts(chosen).size(), 1u);
}

TEST_F(Rehearsals, AreNotOfStrategiesThatShareAnObject) {
  TrialKey trial;
  trial.devices = 2;
  trial.global_batch = 8;
  Traits traits;
  EXPECT_TRUE(can_be_rehearsed(traits, trial, 10));
  traits.one_host = true;
  EXPECT_FALSE(can_be_rehearsed(traits, trial, 10)) << "the others' parts of it would not exist";
  traits.one_host = false;
  traits.stages = {10};
  EXPECT_TRUE(can_be_rehearsed(traits, trial, 10));
  traits.stages = {10, 11};
  EXPECT_FALSE(can_be_rehearsed(traits, trial, 10)) << "two epochs do not reach the last stage";
}

}  // namespace
}  // namespace mgcompare
