// Strategies that lie, in real trainings: what the comparison with the baseline detects.

#include <gmock/gmock.h>

#include "discovery/plugin_files.h"
#include "strategy_plugins.h"
#include "fixture.h"
#include "reports/marks.h"
#include "train/session.h"

namespace mgcompare::testing {
namespace {

constexpr char kLiar[] = MGCOMPARE_BINARY_DIR "/lib/mgcompare/bad_plugins/strategy_liar.so";

// One batch for all, so that all trials have one baseline.
Trial trial_of(const std::string& plugin, std::size_t ranks, std::uint64_t seed = 1) {
  Trial trial = small_trial(ranks, plugin);
  trial.seed = seed;
  trial.block = static_cast<int>(seed);
  trial.config.epochs = 3;
  return trial;
}

Trial liar(const std::string& how, std::size_t ranks, std::uint64_t seed = 1) {
  Trial trial = trial_of("", ranks, seed);
  trial.strategy = {"liar", how, {{"how", how, false, {}}}, {}};
  trial.plugin_file = kLiar;
  return trial;
}

Trial of_plugin(const std::string& name, const std::string& how, std::size_t ranks) {
  Trial trial = liar(how, ranks);
  trial.strategy.name = name;
  trial.plugin_file = std::filesystem::path(kLiar).replace_filename("strategy_" + name + ".so");
  return trial;
}

Trial occasional(const std::string& how, std::size_t ranks) { return of_plugin("occasional", how, ranks); }

Trial normalised(Trial trial) {
  trial.config.model = normalised_model();
  trial.config.batch_norm = BatchNormPolicy::sync;
  return trial;
}

Trial approximate(const std::string& how, std::size_t ranks) {
  Trial trial = liar(how, ranks);
  trial.strategy.options.push_back({"approximate", "true", false, {}});
  return trial;
}

Trial with(Trial trial, const Config& config) {
  trial.config = config;
  return trial;
}

class Promises : public ::testing::Test {
 protected:
  const Row& add(const Trial& trial) {
    Row row;
    row.position = static_cast<int>(run_.rows.size());
    row.trial = trial;
    Config config = trial.config;
    config.evaluate = evaluate_;
    row.config = std::make_shared<const Config>(config);
    row.state = RowState::finished;
    row.result = run(with(trial, config)).result;
    return run_.rows.emplace_back(row);
  }
  void add_baselines(std::uint64_t seeds) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) add(trial_of("serial", 1, seed));
    Trial control = trial_of("serial", 1);
    control.control = true;
    add(control);
  }
  PromiseCheck check(const Row& row) const { return PromiseChecks(run_).of(row); }

  mgcompare::Run run_;
  double evaluate_ = 1;
};

TEST_F(Promises, HonestStrategiesKeepTheirs) {
  add_baselines(2);
  for (const char* plugin : {"replicated", "data_parallel", "sharded_server", "tower"})
    for (const std::size_t ranks : {2, 3, 4})
      for (const std::uint64_t seed : {1, 2}) {
        if (std::string(plugin) == "tower" && ranks == 4) continue;
        add(trial_of(plugin, ranks, seed));
      }
  add(liar("nothing", 3));
  for (const Row& row : run_.rows) {
    const PromiseCheck found = check(row);
    EXPECT_NE(found.state, PromiseState::broken) << row_name(row.trial) << " in epoch " << found.epoch << ": " << found.departure;
    if (promises_baseline(row)) {
      EXPECT_EQ(found.state, PromiseState::kept) << row_name(row.trial);
    }
  }
}

TEST_F(Promises, GrossLiesAreFound) {
  add_baselines(1);
  for (const char* how : {"scaled gradients", "dropped sample", "skipped exchange", "trains apart", "trains apart noisily",
                          "settle scales weights"})
    add(liar(how, 3));
  for (const Row& row : run_.rows) {
    if (!promises_baseline(row)) continue;
    const PromiseCheck found = check(row);
    EXPECT_EQ(found.state, PromiseState::broken) << row.trial.strategy.label << ": " << found.departure << " of " << found.bound;
  }
}

TEST_F(Promises, EvaluationsWithinEpochsAreOfTheTraining) {
  evaluate_ = 0.3;
  add_baselines(1);
  for (const char* plugin : {"replicated", "sharded_server", "tower"}) EXPECT_EQ(check(add(trial_of(plugin, 3))).state, PromiseState::kept) << plugin;
  const PromiseCheck found = check(add(liar("settles within epochs", 2)));
  EXPECT_EQ(found.state, PromiseState::broken);
  EXPECT_EQ(found.what, "weights within the epoch");
  // Between steps a strategy may not train on either.
  const Row& row = add(approximate("settle scales weights", 2));
  EXPECT_GT(row.result.epochs.front().evaluations.front().ranks_moved, 0u);
  EXPECT_TRUE(is_marked(marks_of(row, {}), MarkKind::moved_by_settle));
}

TEST_F(Promises, RanksOfOneModelEndWithTheSameWeights) {
  const auto ranks_apart = [&](const Trial& trial) { return add(trial).result.epochs.front().ranks_apart; };
  EXPECT_EQ(ranks_apart(liar("skipped exchange", 3)), 2u);
  EXPECT_TRUE(is_marked(marks_of(run_.rows.front(), {}), MarkKind::ranks_apart));
  Trial approximate = liar("skipped exchange", 2);
  approximate.strategy.options.push_back({"approximate", "true", false, {}});
  EXPECT_EQ(ranks_apart(approximate), 1u);
  EXPECT_EQ(ranks_apart(trial_of("independent", 3)), 0u) << "many models";
}

// No training on one device is a reference there.
TEST_F(Promises, ARowWithLocalBatchNormalisationSaysThatItIsNotChecked) {
  for (const BatchNormPolicy policy : {BatchNormPolicy::local, BatchNormPolicy::sync})
    for (const std::size_t ranks : {1, 2}) {
      Trial trial = normalised(liar("nothing", ranks));
      trial.config.batch_norm = policy;
      const bool is_local = policy == BatchNormPolicy::local && ranks > 1;
      EXPECT_EQ(::testing::PrintToString(add(trial).result.notes).find("this run cannot check its promise") != std::string::npos, is_local);
    }
}

TEST_F(Promises, SettleLeavesTheLiveWeightsAlone) {
  for (const char* how : {"settle scales weights", "settle averages weights"}) {
    const Row& row = add(liar(how, 2));
    EXPECT_EQ(row.result.epochs.front().ranks_moved, 2u) << how;
    EXPECT_TRUE(is_marked(marks_of(row, {}), MarkKind::moved_by_settle)) << how;
  }
  EXPECT_EQ(add(liar("settle scales weights", 1)).result.epochs.front().ranks_moved, 1u);
}

TEST_F(Promises, PassesAndUpdatesOutsideOfStepsFailTheTrial) {
  for (const std::string place : {"start", "settle"}) {
    for (const char* what : {"passes in ", "updates in "}) {
      const std::string how = what + place;
      try {
        add(occasional(how, 2));
        ADD_FAILURE() << how;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr(place + "() ran passes or updates")) << how;
      }
    }
  }
}

TEST_F(Promises, BatchesOfOtherEpochsFailTheTrial) {
  try {
    add(occasional("keeps the first epoch", 2));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("a pass in epoch 2 got a batch of epoch 1")) << error.what();
  }
}

TEST_F(Promises, ShippedStrategiesEndTogetherAndSettleQuietly) {
  for (const char* plugin : {"replicated", "data_parallel", "sharded_server", "tower", "local_sgd", "bmuf", "async_sgd", "easgd", "onebit",
                             "top_k", "power_sgd", "independent", "serial"})
    for (const std::size_t ranks : {1, 2, 3}) {
      if (std::string(plugin) == "serial" && ranks > 1) continue;
      for (const EpochResult& epoch : add(trial_of(plugin, ranks)).result.epochs) {
        EXPECT_EQ(epoch.ranks_apart, 0u) << plugin << " on " << ranks;
        EXPECT_EQ(epoch.ranks_moved, 0u) << plugin << " on " << ranks;
        EXPECT_EQ(epoch.repeats_samples, 0u) << plugin << " on " << ranks;
      }
    }
}

TEST_F(Promises, AReferenceIsTheBaseline) {
  Trial trial = trial_of("serial", 1);
  const Result baseline = run(trial).result;
  trial.strategy = {"reference", "reference", {}, {}};
  trial.plugin_file.clear();
  trial.reference = true;
  trial.config.data.train_samples = 730, trial.config.data.test_samples = 200;
  LivePosition position;
  const Result reference = Session().run(trial, {}, [](const Progress&) {}, position, [] { return false; }, [](const Result&) {});
  ASSERT_EQ(reference.status, TrialStatus::done) << reference.cause;
  EXPECT_EQ(reference.weights_hash, baseline.weights_hash);
  EXPECT_LT(reference.seconds_warm_up, 1e-4) << "its speed does not count";
}

TEST_F(Promises, AControlIsTheBaselineSummedInAnotherOrder) {
  add_baselines(1);
  const Result &baseline = run_.rows[0].result, &control = run_.rows[1].result;
  EXPECT_NE(baseline.weights_hash, control.weights_hash);
  EXPECT_NEAR(baseline.epochs[0].loss, control.epochs[0].loss, 1e-4);
  EXPECT_LT(control.seconds_warm_up, 1e-4) << "its speed does not count";
}

TEST_F(Promises, RanksThatSendNothingAreMarked) {
  for (const char* how : {"trains apart", "uncounted exchange"}) {
    const Row row = add(liar(how, 2));
    EXPECT_TRUE(is_marked(marks_of(row, {}), MarkKind::sent_nothing)) << how;
  }
  EXPECT_FALSE(is_marked(marks_of(add(liar("nothing", 2)), {}), MarkKind::sent_nothing));
  EXPECT_FALSE(is_marked(marks_of(add(liar("nothing", 1)), {}), MarkKind::sent_nothing));
}

TEST_F(Promises, ACeilingThatSendsIsMarked) {
  EXPECT_TRUE(is_marked(marks_of(add(of_plugin("shares", "ceiling", 2)), {}), MarkKind::ceiling_sent));
  for (const BatchNormPolicy policy : {BatchNormPolicy::local, BatchNormPolicy::sync}) {
    Trial honest = normalised(trial_of("independent", 2));
    honest.config.batch_norm = policy;
    EXPECT_FALSE(is_marked(marks_of(add(honest), {}), MarkKind::ceiling_sent));
  }
}

TEST_F(Promises, ExchangesThatAreHiddenAreMarked) {
  EXPECT_TRUE(is_marked(marks_of(add(liar("hidden exchange", 2)), {}), MarkKind::sent_too_little));
  EXPECT_FALSE(is_marked(marks_of(add(liar("nothing", 2)), {}), MarkKind::sent_too_little));
  EXPECT_FALSE(is_marked(marks_of(add(approximate("hidden exchange", 2)), {}), MarkKind::sent_too_little)) << "may send seldom";
}

TEST_F(Promises, SamplesThatAreIgnoredAreMarked) {
  for (const char* how : {"skips updates", "skips passes"}) {
    const Row row = add(approximate(how, 2));
    EXPECT_EQ(row.result.samples, row.result.samples_due) << how;
    EXPECT_NEAR(static_cast<double>(row.result.samples_ignored), 0.5 * static_cast<double>(row.result.samples),
                0.1 * static_cast<double>(row.result.samples)) << how;
    EXPECT_TRUE(is_marked(marks_of(row, {}), MarkKind::ignored_samples)) << how;
    EXPECT_TRUE(is_disqualified(marks_of(row, {}))) << how;
  }
}

TEST_F(Promises, LossesThatAreComputedTwiceAreNoSamples) {
  const Row row = add(occasional("computes losses twice", 2));
  EXPECT_EQ(row.result.samples, row.result.samples_due);
  EXPECT_FALSE(is_marked(marks_of(row, {}), MarkKind::other_samples));
  EXPECT_FALSE(is_marked(marks_of(row, {}), MarkKind::ignored_samples));
  // But its training loss is a mean over both, and says nothing of its promise.
  EXPECT_GT(row.result.samples_judged_again, 0u);
  EXPECT_TRUE(is_marked(marks_of(row, {}), MarkKind::other_losses));
  EXPECT_FALSE(disqualifies(MarkKind::other_losses));
  EXPECT_EQ(add(trial_of("replicated", 2)).result.samples_judged_again, 0u);
}

// Local steps, gradients that are added up over steps, and exchanges one step late.
TEST_F(Promises, SamplesThatAreLearnedFromInAnyWayAreNotMarked) {
  for (const PluginSummary& plugin : strategy_plugins())
    for (const std::size_t ranks : {1, 3})
      if (plugin.name != "serial" || ranks == 1) {
        EXPECT_EQ(add(trial_of(plugin.name, ranks)).result.samples_ignored, 0) << plugin.name << " on " << ranks;
      }
  Trial deferred = trial_of("replicated", 2), pushing = trial_of("async_sgd", 2), meeting = trial_of("easgd", 2);
  deferred.strategy.options = {{"deferred", "true", false, {}}};
  pushing.strategy.options = {{"push_every", "3", false, {}}, {"pull_every", "3", false, {}}};
  meeting.strategy.options = {{"pace", "lockstep", false, {}}, {"every", "5", false, {}}, {"alpha", "0.1", false, {}}};
  for (const Trial& trial : {deferred, pushing, meeting, approximate("accumulates", 2), liar("nothing", 2), liar("no save", 2)})
    EXPECT_EQ(add(trial).result.samples_ignored, 0) << trial.strategy.label;
}

// The weights are the baseline's, but the network is not.
TEST_F(Promises, StatisticsThatAreOverwrittenBreakThePromise) {
  add(normalised(trial_of("serial", 1)));
  Trial control = normalised(trial_of("serial", 1));
  control.control = true;
  add(control);
  EXPECT_EQ(check(add(normalised(liar("nothing", 2)))).state, PromiseState::kept);
  EXPECT_EQ(check(add(normalised(trial_of("replicated", 3)))).state, PromiseState::kept);
  const PromiseCheck found = check(add(normalised(liar("settle clears statistics", 2))));
  EXPECT_EQ(found.state, PromiseState::broken);
  EXPECT_EQ(found.what, "statistics") << found.departure << " of " << found.bound;
}

TEST_F(Promises, PassesBesideTheTrainingAreMarkedWhereTheyChangeStatistics) {
  for (const std::size_t ranks : {1, 2}) {
    const Row peeking = add(normalised(occasional("peeks first", ranks)));
    EXPECT_EQ(peeking.result.samples_only_passed, peeking.trial.global_batch) << ranks;
    EXPECT_THAT(marks_text(marks_of(peeking, {})), ::testing::HasSubstr("samples forward without learning from them"));
    EXPECT_TRUE(is_disqualified(marks_of(peeking, {})));
    const auto& twice = add(normalised(occasional("computes losses twice", ranks)));
    EXPECT_EQ(twice.result.samples_only_passed, 0u);
    EXPECT_GT(twice.result.samples_judged_again, 0u);
    EXPECT_EQ(add(occasional("peeks first", ranks)).result.samples_only_passed, 0u) << "nothing that it could change";
  }
}

TEST_F(Promises, TraitsThatChangeFailTheTrial) {
  for (const char* how : {"changes traits", "changes traits later"}) {
    try {
      add(liar(how, 2));
      ADD_FAILURE() << how;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("strategy 'liar' changes its traits: promise was '")) << how;
    }
  }
  Trial planned = liar("nothing", 2);
  planned.traits = texts_of(Traits{});
  planned.planned_steps = 15;
  EXPECT_THROW(add(planned), Error) << "approximate when it was planned";
  planned.planned_steps = 16;  // other facts
  EXPECT_NO_THROW(add(planned));
}

TEST_F(Promises, RanksThatTrainOtherSamplesAreMarked) {
  EXPECT_TRUE(is_marked(marks_of(add(liar("dropped sample", 2)), {}), MarkKind::other_samples));
  EXPECT_TRUE(is_marked(marks_of(add(liar("whole batch", 2)), {}), MarkKind::other_samples));
  for (const char* name : {"replicated", "async_sgd", "local_sgd", "independent"})
    EXPECT_FALSE(is_marked(marks_of(add(trial_of(name, 2)), {}), MarkKind::other_samples)) << name;
}

TEST_F(Promises, RanksThatRepeatSamplesInPlaceOfOthersAreMarked) {
  const Row repeating = add(approximate("repeats samples", 2));
  EXPECT_EQ(repeating.result.samples, repeating.result.samples_due);
  EXPECT_EQ(repeating.result.samples_ignored, 0);
  EXPECT_THAT(marks_text(marks_of(repeating, {})), ::testing::HasSubstr("trained some samples again in epoch 1, in place of others"));
}

TEST_F(Promises, ThreadsBesideTheRanksAreMarked) {
  Trial burning = liar("burns a core", 3), quiet = liar("nothing", 2);
  burning.config.epochs = quiet.config.epochs = 20;
  const Row busy = add(burning), idle = add(quiet);
  EXPECT_TRUE(is_marked(marks_of(busy, {}), MarkKind::busy_threads)) << busy.result.seconds_other_threads << " of " << busy.result.seconds_training;
  EXPECT_FALSE(is_marked(marks_of(idle, {}), MarkKind::busy_threads)) << idle.result.seconds_other_threads << " of " << idle.result.seconds_training;
}

TEST_F(Promises, ProcessesBesideTheRanksAreMarked) {
  Trial burning = liar("burns in a process", 1);
  burning.config.epochs = 20;
  const Row busy = add(burning);
  EXPECT_TRUE(is_marked(marks_of(busy, {}), MarkKind::busy_threads)) << busy.result.seconds_other_threads << " of " << busy.result.seconds_training;
}

TEST_F(Promises, ProcessesWhoseTimeTheKernelDoesNotCountAreMarked) {
  EXPECT_THAT(marks_text(marks_of(add(liar("burns uncounted", 1)), {})), ::testing::HasSubstr("changed the handling of SIGCHLD"));
  EXPECT_THAT(marks_text(marks_of(add(liar("burns in a process", 1)), {})), ::testing::Not(::testing::HasSubstr("SIGCHLD")));
}

TEST_F(Promises, SharedObjectsAndExclusiveSectionsAreCounted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the allocator of a sanitizer does not count";
#endif
  const Result sharing = add(liar("uncounted exchange", 2)).result;
  ASSERT_EQ(sharing.shared.size(), 1u);
  EXPECT_THAT(sharing.shared[0].what, ::testing::HasSubstr("Board"));
  EXPECT_NEAR(static_cast<double>(sharing.shared[0].bytes), 2.0 * 4 * static_cast<double>(sharing.parameters), 4096);
  EXPECT_EQ(sharing.exclusive_sections, 0u);
  const Result honest = add(liar("nothing", 2)).result;
  EXPECT_TRUE(honest.shared.empty());
  const Result free = add(trial_of("async_sgd", 2)).result;
  EXPECT_GE(free.exclusive_sections, free.updates);
}

TEST_F(Promises, AResumedTrialHasAllEpochs) {
  const Trial trial = [] {
    Trial trial = trial_of("replicated", 2);
    trial.config.checkpoint_epochs = 1;
    return trial;
  }();
  const Result whole = run(trial).result, parts = run_in_two_parts(trial).result;
  ASSERT_EQ(whole.epochs.size(), parts.epochs.size());
  for (std::size_t i = 0; i < whole.epochs.size(); ++i) EXPECT_EQ(whole.epochs[i].sketch, parts.epochs[i].sketch);
}

}  // namespace
}  // namespace mgcompare::testing
