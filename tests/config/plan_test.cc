#include "plan/plan.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/config/planning.h"

namespace mgcompare {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST_F(Planning, AutomaticDevicesGoUpToWhatIsThere) {
  EXPECT_THAT(rows(plan("strategies: [single, sums]", 4)), ElementsAre("single cpu:1 batch 128", "sums cpu:1 batch 128",
                                                                       "sums cpu:2 batch 128", "sums cpu:4 batch 128"));
  EXPECT_THAT(rows(plan("strategies: [sums]", 6, 0)), SizeIs(4));
  EXPECT_THAT(rows(plan("strategies: [sums]", 6, 2)), ElementsAre("sums cuda:1 batch 128", "sums cuda:2 batch 128"));
  EXPECT_THAT(rows(plan("strategies: [sums]", 1)), ElementsAre("sums cpu:1 batch 128"));
  TableProber nothing(0, 0);
  EXPECT_THROW(make_plan(config("strategies: [sums]"), nothing), Error);
}

TEST_F(Planning, TakesThoseOfTheCountsThatAreThere) {
  const std::string text = "strategies: [sums]\nscaling: {devices: {auto: [1, 3, 8]}}";
  EXPECT_THAT(rows(plan(text, 4)), ElementsAre("sums cpu:1 batch 128", "sums cpu:3 batch 128"));
  EXPECT_THAT(rows(plan(text, 6, 2)), ElementsAre("sums cuda:1 batch 128"));
  EXPECT_THAT(rows(plan("strategies: [sums]\nscaling: {devices: {auto: 2}}", 4)), ElementsAre("sums cpu:2 batch 128"));
  EXPECT_THAT(rows(plan("strategies: [sums]\nscaling: {devices: [cpu:1, {auto: [1, 4]}]}", 2, 2)),
              ElementsAre("sums cpu:1 batch 128", "sums cuda:1 batch 128"));
  EXPECT_THAT([&] { plan("strategies: [sums]\nscaling: {devices: {auto: [3, 8]}}", 2); },
              testing::ThrowsMessage<Error>("'scaling.devices' has only counts above the 2 cpu devices of this machine; add a smaller one"));
}

TEST_F(Planning, OnlyCountsThatAUserWroteAreUnavailable) {
  const Plan made = plan("strategies: [single, sums]\nscaling: {devices: [2, 8, cuda:1]}", 4);
  std::map<std::string, std::string> reasons;
  for (const Trial& trial : made.trials) reasons[row_name(trial)] = trial.unavailable;
  EXPECT_EQ(reasons.at("sums cpu:2 batch 128"), "");
  EXPECT_EQ(reasons.at("sums cpu:8 batch 128"), "asked 8, have 4");
  EXPECT_EQ(reasons.at("sums cuda:1 batch 128"), "asked 1, have 0: no driver");
  EXPECT_EQ(reasons.at("single cpu:1 batch 128"), "");  // the baseline runs although 1 is not in the list
  EXPECT_EQ(reasons.at("single cuda:1 batch 128"), "asked 1, have 0: no driver");
  EXPECT_THAT(reasons, SizeIs(5));
}

TEST_F(Planning, RowsSayThePrecisionThatTheirDevicesHave) {
  TableProber probe(1, 2);
  probe.platforms_[1].devices[1] = {"cuda", 1, "old", 0, {}, "", {}, {"fp32"}};
  const std::string text = "strategies: [sums]\nscaling: {devices: [cuda:1, cuda:2]}\nnumerics: {precision: ";
  const Plan automatic = make_plan(config(text + "auto}"), probe);
  for (const Trial& trial : automatic.trials) EXPECT_EQ(trial.config.precision, Precision::fp32);
  EXPECT_EQ(automatic.config.precision, Precision::automatic);
  EXPECT_THAT(automatic.warnings, Contains("cuda devices compute in fp32, because cuda:1 (old) does not support tf32"));
  const Plan insisting = make_plan(config(text + "bf16}"), probe);
  for (const Trial& trial : insisting.trials)
    EXPECT_EQ(trial.unavailable,
              trial.devices == 1 ? "" : "precision bf16 is not available on cuda:1 (old), which supports fp32");
  for (const Trial& trial : make_plan(config(text + "fp32}"), probe).trials) EXPECT_EQ(trial.unavailable, "");
  for (const Trial& trial : plan("strategies: [sums]", 1, 2).trials) EXPECT_EQ(trial.config.precision, Precision::automatic);
}

TEST_F(Planning, StrongKeepsTheGlobalBatchAndWeakTheDevices) {
  const std::string text = "strategies: [single, sums]\nscaling: {devices: [1, 4], batch: 64, mode: ";
  for (const Trial& trial : plan(text + "strong}").trials) EXPECT_EQ(trial.global_batch, 64u);
  for (const Trial& trial : plan(text + "weak}").trials) EXPECT_EQ(trial.global_batch, 64u * trial.devices);
}

TEST_F(Planning, BlocksAreCompleteShuffledAndRepeatable) {
  const std::string text =
      "strategies: [single, sums]\nscaling: {batch: [32, 64]}\nseeds: [5, 6, 7]\n"
      "variants: [{name: v, set: {epochs: 3}}]";
  Plan made = plan(text), again = plan(text);
  for (Plan* one : {&made, &again}) one->trials = in_blocks(one->trials);
  const std::size_t size = (1 + 3) * 2 * 2;
  ASSERT_THAT(made.trials, SizeIs(size * 3));
  std::vector<std::vector<std::string>> blocks(3);
  for (std::size_t i = 0; i < made.trials.size(); ++i) {
    const Trial& trial = made.trials[i];
    EXPECT_EQ(trial.block, static_cast<int>(i / size) + 1);
    EXPECT_EQ(trial.seed, 5 + i / size);
    EXPECT_EQ(trial.number, again.trials[i].number);
    EXPECT_EQ(trial.config.epochs, trial.variant == "v" ? 3u : 12u);
    EXPECT_EQ(trial.plugin_file, "/plugins/" + trial.strategy.name + ".so");
    blocks[i / size].push_back(row_name(trial));
  }
  EXPECT_NE(blocks[0], blocks[1]);
  EXPECT_NE(blocks[1], blocks[2]);
  for (auto& block : blocks) std::sort(block.begin(), block.end());
  EXPECT_EQ(blocks[0], blocks[1]);
  EXPECT_EQ(blocks[0], blocks[2]);
  EXPECT_EQ(std::unique(blocks[0].begin(), blocks[0].end()), blocks[0].end());

  std::vector<int> numbers;
  for (const Trial& trial : made.trials) numbers.push_back(trial.number);
  EXPECT_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
  std::sort(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], static_cast<int>(i) + 1);

  std::vector<int> other;
  for (const Trial& trial : in_blocks(plan(text + "\n# \nmeasure: {time_limit: 9}").trials)) other.push_back(trial.number);
  const Plan reseeded = plan(
      "strategies: [single, sums]\nscaling: {batch: [32, 64]}\nseeds: [6, 7, 5]\n"
      "variants: [{name: v, set: {epochs: 3}}]");
  std::vector<int> order;
  for (const Trial& trial : in_blocks(reseeded.trials)) order.push_back(trial.number);
  EXPECT_NE(order, other);
}

TEST_F(Planning, TheBaselineBracketsTheBlocks) {
  const std::string text = "strategies: [single, sums]\nscaling: {batch: [32, 64]}\nseeds: [5, 6, 7]\nmeasure: ";
  const auto places = [](const std::vector<Trial>& trials) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < trials.size(); ++i)
      if (trials[i].bracket > 0) found.push_back(i);
    return found;
  };
  const Plan normal = plan(text + "normal");
  EXPECT_THAT(places(normal.trials), ElementsAre(0, 13, 26));
  EXPECT_THAT(places(plan(text + "quick").trials), ElementsAre(0, 9));
  EXPECT_THAT(places(plan(text + "thorough").trials), SizeIs(11));
  EXPECT_THAT(places(plan("strategies: [sums]\nseeds: [1, 2, 3, 4]").trials), SizeIs(0)) << "there is no baseline";
  const Trial& first = normal.trials.front();
  EXPECT_EQ(row_name(first), "single cpu:1 batch 32");
  EXPECT_EQ(first.number, 25) << "the numbers of the others stay";
  EXPECT_EQ(first.block, 0);
  EXPECT_EQ(first.seed, 5u);
  EXPECT_THAT(describe(normal), HasSubstr("27 trials in 3 blocks, 3 of them extra runs of the baseline;"));
  EXPECT_EQ(nlohmann::json(nlohmann::json(first).get<Trial>()), nlohmann::json(first));
  // Filtered plans keep their bracket runs.
  EXPECT_THAT(places(only(normal, "batch=32")), ElementsAre(0, 7, 14));
  EXPECT_THAT(places(only(normal, "batch=64")), SizeIs(0));
  EXPECT_THAT(places(only(normal, "strategy=sums")), SizeIs(0));
}

TEST_F(Planning, RowsThatPromiseTheBaselineGetAControl) {
  const auto controls = [](const std::vector<Trial>& trials) {
    std::vector<std::string> found;
    for (const Trial& trial : trials)
      if (trial.control) found.push_back(fmt::format("{} {} seed {} {}", trial.number, row_name(trial), trial.seed, trial.block));
    return found;
  };
  const std::string text = "strategies: [single, precise, sums]\nscaling: {batch: [32, 64], devices: [2]}\nseeds: [5, 6]\n";
  const Plan made = plan(text);
  EXPECT_THAT(controls(made.trials), ElementsAre("16 single cpu:1 batch 32 seed 5 0", "17 single cpu:1 batch 64 seed 5 0"));
  const auto first = std::find_if(made.trials.begin(), made.trials.end(), [](const Trial& trial) { return trial.control; });
  EXPECT_TRUE(std::all_of(made.trials.begin(), first, [](const Trial& trial) { return trial.block <= 1; })) << "after the first block";
  EXPECT_EQ(first[2].block, 2);
  EXPECT_THAT(describe(made), HasSubstr("2 of them controls of exact rows"));
  EXPECT_TRUE(nlohmann::json(*first).get<Trial>().control);
  // Only where a row needs one.
  EXPECT_THAT(controls(plan("strategies: [single, sums]").trials), SizeIs(0));
  EXPECT_THAT(controls(only(made, "batch=32")), SizeIs(1));
  EXPECT_THAT(controls(only(made, "strategy=single,strategy=sums")), SizeIs(0));
  EXPECT_THAT(controls(only(made, "seed=6")), ElementsAre("31 single cpu:1 batch 32 seed 6 0", "33 single cpu:1 batch 64 seed 6 0"));
  EXPECT_THAT(controls(plan(text + "variants: [{name: v, set: {optimizer.kind: adam}}]").trials), SizeIs(4));
}

TEST_F(Planning, RowsWithoutABaselineGetAReference) {
  const auto references = [](const std::vector<Trial>& trials) {
    std::vector<std::string> found;
    for (const Trial& trial : trials) {
      if (!trial.reference) continue;
      EXPECT_FALSE(trial.is_repeat());
      EXPECT_EQ(trial.plugin_file, "") << "the program's own";
      found.push_back(fmt::format("{} {} on {}:{} x {}{}, batch {} {} seed {}", trial.number, trial.strategy.label, to_string(trial.device_kind),
                                  trial.devices, trial.ranks_per_device, trial.control ? ", control" : "", trial.global_batch, trial.variant, trial.seed));
    }
    return found;
  };
  const Plan weak = plan("strategies: [single, precise, sums]\nscaling: {batch: 32, devices: [1, 2, 4], mode: weak}\nseeds: [5, 6]\n");
  EXPECT_THAT(references(weak.trials), ElementsAre("19 reference on cpu:1 x 1, batch 64  seed 5", "20 reference on cpu:1 x 1, control, batch 64  seed 5",
                                                   "21 reference on cpu:1 x 1, batch 128  seed 5", "22 reference on cpu:1 x 1, control, batch 128  seed 5"));
  EXPECT_FALSE(weak.trials.back().reference) << "references are after the first block";
  EXPECT_THAT(describe(weak), HasSubstr("1 of them control of exact rows, 4 of them references of exact rows"));
  const auto reference = std::find_if(weak.trials.begin(), weak.trials.end(), [](const Trial& trial) { return trial.reference; });
  ASSERT_NE(reference, weak.trials.end());
  EXPECT_TRUE(nlohmann::json(*reference).get<Trial>().reference);
  EXPECT_THAT(references(only(weak, "devices=2")), ElementsAre(HasSubstr("19 "), HasSubstr("20 ")));
  EXPECT_THAT(references(only(weak, "strategy=single,strategy=sums")), SizeIs(0));
  // A batch per device that is another's global batch needs none.
  EXPECT_THAT(references(plan("strategies: [single, precise]\nscaling: {batch: [32, 64], devices: [2], mode: weak}").trials), SizeIs(2));
  // Strong scaling, no baseline; several ranks on a device; and a filter that leaves out the baseline.
  EXPECT_THAT(references(plan("strategies: [precise, sums]\nscaling: {devices: [1, 2]}").trials), SizeIs(2));
  EXPECT_THAT(references(plan("strategies: [precise]\nscaling: {devices: [1], ranks_per_device: 3}").trials),
              ElementsAre(HasSubstr("reference on cpu:1 x 1, batch"), HasSubstr("control")));
  const Plan strong = plan("strategies: [single, precise]\nscaling: {devices: [2]}\nseeds: [5, 6]\n");
  EXPECT_THAT(references(strong.trials), SizeIs(0));
  EXPECT_THAT(references(only(strong, "strategy=precise,seed=6")), ElementsAre(HasSubstr("seed 6"), HasSubstr("control")));
  EXPECT_THAT(references(plan("strategies: [sums]").trials), SizeIs(0));
  // A row that cannot run needs none.
  EXPECT_THAT(references(plan("strategies: [precise]\nscaling: {devices: [cuda:2]}").trials), SizeIs(0));
}

TEST_F(Planning, BatchesThatHoldAllSamplesAreOneRow) {
  const std::string text = "strategies: [sums]\ndata: {train_samples: 1000}\nscaling: {devices: [1, 2], batch: [500, 2000, 1000, 4000]";
  const Plan strong = plan(text + "}");
  EXPECT_THAT(rows(strong), ElementsAre("sums cpu:1 batch 1000", "sums cpu:1 batch 500", "sums cpu:2 batch 1000", "sums cpu:2 batch 500"));
  EXPECT_THAT(strong.warnings, Contains("batch 4000 is more than the 1,000 training samples: its rows are those of batch 1000"));
  const Plan weak = plan(text + ", mode: weak}");
  EXPECT_THAT(rows(weak), SizeIs(3)) << "500 and 2000 on one device, 500 on two";
  EXPECT_THAT(weak.warnings, Contains(HasSubstr("on 2 devices, batches 500 and 2000 per device both hold all 1,000 training samples")));
  const Plan scaled = plan(text + ", mode: weak}\nschedule: {batch_rule: linear}");
  EXPECT_THAT(rows(scaled), SizeIs(8)) << "their learning rates differ";
  EXPECT_THAT(scaled.warnings,
              Contains("on 2 devices, batch 1000 per device, 2000 in all, is more than the 1,000 training samples: each step has 1,000, whatever its row "
                       "is named, and the learning rate is that of batch 2000"));
  EXPECT_THAT(scaled.warnings, testing::Not(Contains(HasSubstr("batch 500 per device, 1000 in all"))));
}

TEST_F(Planning, FactsAreAskedForEverySize) {
  TableProber probe(2, 0);
  make_plan(config("strategies: [sums]\nepochs: 3\noptimizer: {momentum: 0.9}\nscaling: {batch: [100, 7]}\n"
                   "data: {train_samples: 1000}\nvariants: [{name: v, set: {optimizer.kind: adam}}]"),
            probe);
  std::set<std::tuple<int, std::size_t, std::size_t, std::string>> facts;
  for (const ProbeQuestion& question : probe.asked_) {
    facts.insert(
        {question.facts.ranks, question.facts.global_batch, question.facts.steps_per_epoch, question.facts.optimizer});
    EXPECT_EQ(question.facts.epochs, 3u);
    EXPECT_EQ(question.facts.momentum, question.facts.optimizer == "sgd" ? 0.9 : 0);
    EXPECT_EQ(question.plugin_file, "/plugins/sums.so");
  }
  EXPECT_THAT(facts, SizeIs(8));
  EXPECT_THAT(probe.asked_, SizeIs(8));
  EXPECT_THAT(facts, Contains(std::make_tuple(2, std::size_t{7}, std::size_t{143}, "adam")));
}

TEST_F(Planning, RanksPerDevice) {
  const Plan made = plan("strategies: [single, sums]\nscaling: {ranks_per_device: 3, devices: [2]}");
  EXPECT_THAT(rows(made), ElementsAre("single cpu:1 batch 128", "sums cpu:2 x 3 ranks batch 128"));
  EXPECT_THAT(made.warnings, Contains(HasSubstr("the speed of such rows is not meaningful")));
}

TEST_F(Planning, OnlyTheProgramHasBaselines) {
  EXPECT_EQ(refused("strategies: [single, sums]"), "");
  EXPECT_THAT(refused("strategies: [foreign, sums]"), HasSubstr("strategy 'foreign' claims to be the baseline"));
}

TEST_F(Planning, DescribesAndEstimates) {
  TableProber probe(4, 0);
  const Plan made = make_plan(
      read("layers: [{dense: 4000}, {dense: 10}]\nstrategies: [single, sums]\nscaling: {devices: [1, 2, 8]}\n"),
      probe);
  const std::string text = describe(made);
  EXPECT_THAT(text, HasSubstr("x: 4 trials in 1 block, 1 of them unavailable; about "));
  EXPECT_THAT(text, HasSubstr("rough"));
  EXPECT_THAT(text, HasSubstr("unavailable: asked 8, have 4"));
  EXPECT_THAT(text, HasSubstr("\ndata: mnist (not found here; it will be downloaded), 1 x 28 x 28 uint8, 10 classes, 60,000 training and 10,000 test samples\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8);

  double sum = 0;
  for (const Trial& trial : made.trials) sum += estimate_seconds(trial, made.data);
  EXPECT_NEAR(estimate_seconds(made.trials, made.data), sum, 1);
  const Trial single = only(made, "strategy=single").front();
  EXPECT_NEAR(estimate_seconds(single, made.data, {{row_name(single), 60000.0}}), 12 * (60000 + 10000 / 3.0) / 60000, 0.5);
  EXPECT_GT(estimate_seconds(single, made.data), 2 * estimate_seconds(only(made, "strategy=sums,devices=2").front(), made.data) * 0.8);
  EXPECT_EQ(estimate_seconds(only(made, "devices=8").front(), made.data), 0);
  Trial of_backend = single;
  of_backend.plugin_file = "plugins/other/backend.json";
  EXPECT_GT(estimate_seconds(of_backend, made.data), estimate_seconds(single, made.data) + 2) << "it loads a framework";
}

TEST_F(Planning, LeNetOnTwoCoresIsAMatterOfMinutes) {
  const Config lenet = read_config(kLeNet);
  Config known = lenet;
  known.strategies.clear();
  for (const std::string name : {"single", "sums"}) {
    known.strategies.push_back({name, name, {}, {}});
  }
  TableProber probe(2, 0);
  const Plan made = make_plan(known, probe);
  const double single = estimate_seconds(only(made, "strategy=single").front(), made.data);
  EXPECT_GT(single, 3);
  EXPECT_LT(single, 8);
}

}  // namespace
}  // namespace mgcompare
