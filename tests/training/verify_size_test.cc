// Faults that need larger shares or more steps than most trainings of verify have.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "check/verify_size.h"
#include "verified.h"

namespace mgcompare {
namespace {

using ::testing::HasSubstr, ::testing::SizeIs;
using testing::Verified, testing::failures;

constexpr std::size_t kSamples = 2000;

Config config_with(ScalingMode mode, std::vector<std::size_t> batches, std::vector<std::size_t> devices) {
  Config config;
  config.scaling.mode = mode;
  config.scaling.batch = std::move(batches);
  config.scaling.automatic = devices.empty();
  for (const std::size_t count : devices) config.scaling.devices.push_back({"auto", count, {}});
  return config;
}

std::vector<std::string> what_of(const Config& config, std::size_t samples = kSamples, bool quick = true) {
  std::vector<std::string> what;
  for (const VerifySize& size : sizes_of(quick ? quick_scope() : VerifyScope(), config, samples, quick)) {
    EXPECT_LE(size.scope.samples, samples);
    what.push_back(size.what);
  }
  return what;
}

TEST(VerifySize, HasTheSharesOfTheConfig) {
  const auto first = [](const Config& config, std::size_t samples = kSamples, bool quick = true) { return what_of(config, samples, quick).front(); };
  EXPECT_EQ(first(config_with(ScalingMode::strong, {16, 100}, {1, 2, 4})), "with shares of 50 samples, and of a third of a batch");
  EXPECT_EQ(first(config_with(ScalingMode::strong, {99}, {1, 4})), "with shares of 25 samples, and of a third of a batch");
  EXPECT_EQ(first(config_with(ScalingMode::strong, {100}, {})), "with shares of 50 samples, and of a third of a batch");
  EXPECT_EQ(first(config_with(ScalingMode::weak, {100}, {1, 2}), kSamples, false), "with shares of 100 samples, and of a third of a batch");
  EXPECT_EQ(first(config_with(ScalingMode::weak, {4096}, {2})), "with shares of 64 samples, and of a third of a batch");
  EXPECT_EQ(first(config_with(ScalingMode::weak, {4096}, {2}), 60000, false), "with shares of 256 samples, and of a third of a batch");
  EXPECT_EQ(first(config_with(ScalingMode::weak, {100}, {2}), 300), "with shares of 50 samples, and of a third of a batch") << "two steps of three ranks";
  Config config = config_with(ScalingMode::strong, {16}, {2});
  Config on_one = config_with(ScalingMode::strong, {100}, {1});
  on_one.scaling.ranks_per_device = 2;
  EXPECT_EQ(first(on_one), "with shares of 50 samples, and of a third of a batch");
  config.variants.push_back({"more", {}, {}, std::make_shared<const Config>(config_with(ScalingMode::strong, {64}, {2}))});
  EXPECT_EQ(first(config), "with shares of 32 samples, and of a third of a batch");
}

TEST(VerifySize, HasEachShareOfTheConfigInTurn) {
  using ::testing::ElementsAre, ::testing::StartsWith;
  EXPECT_THAT(what_of(config_with(ScalingMode::strong, {64, 128}, {1, 2, 4}), 60000, false),
              ElementsAre("with shares of 64 samples, and of a third of a batch", "with shares of 32 samples, and of an eighth of a batch",
                          "with shares of 16 samples, and of a third of a batch", "in epochs of one step", StartsWith("with the learning rates"),
                          StartsWith("after")));
  EXPECT_THAT(what_of(config_with(ScalingMode::strong, {64, 128}, {1, 2, 4})),
              ElementsAre(StartsWith("with shares of 64"), StartsWith("with shares of 16"), "in epochs of one step", StartsWith("with the learning rates"),
                          StartsWith("after")))
      << "quick: the largest and the smallest";
  EXPECT_THAT(what_of(config_with(ScalingMode::strong, {128}, {2})),
              ElementsAre(StartsWith("with shares of 64 samples, and of a third"), StartsWith("with shares of 64 samples, and of an eighth"),
                          "in epochs of one step", StartsWith("with the learning rates"), StartsWith("after")));
}

TEST(VerifySize, SmallSharesAreInTheOtherTrainings) {
  EXPECT_THAT(what_of(config_with(ScalingMode::strong, {8}, {2})), SizeIs(3));
  EXPECT_THAT(what_of(config_with(ScalingMode::strong, {1024}, {1})), SizeIs(3)) << "no several devices";
}

TEST(VerifySize, HasManyStepsInEachEpoch) {
  for (const bool quick : {true, false}) {
    for (const std::size_t samples : {71ul, 500ul, 60000ul}) {
      VerifyScope scope = quick ? quick_scope() : VerifyScope();
      scope.samples = std::min(scope.samples, samples);
      for (scope.seed = 1; scope.seed <= 20; ++scope.seed) {
        const VerifySize size = sizes_of(scope, {}, samples, quick).back();
        const Extent extent = extent_of(size.scope, size.scope.optimizers[0], true);
        EXPECT_GE(extent.checkpoints[1] * extent.steps_per_epoch, quick ? 260u : 400u) << "seed " << scope.seed;
        EXPECT_EQ(extent.checkpoints[1] + 1, extent.epochs);
        if (samples > 2000) {
          EXPECT_GE(extent.steps_per_epoch, quick ? 65u : 100u) << "seed " << scope.seed;
        }
      }
    }
  }
}

Verified verify_sizes(const std::string& how, const std::string& batch_norm = "", const std::string& in_rank_order = "false", std::size_t epochs = 2,
                      double learning_rate = 0.05, const std::string& approximate = "false") {
  VerifyScope scope = quick_scope();
  scope.plugins = {testing::faulty_plugin("occasional")};
  Config config = testing::config_with(
      batch_norm.empty() ? testing::small_model() : testing::normalised_model(),
      {{"occasional", "the row", {{"how", how, false, {}}, {"in_rank_order", in_rank_order, false, {}}, {"approximate", approximate, false, {}}}, {}}});
  if (!batch_norm.empty()) config.batch_norm = kind_named<BatchNormPolicy>(batch_norm);
  config.epochs = epochs;
  config.optimizer.learning_rate = learning_rate;
  const TemporaryFolder folder;
  Verified verified{true, {}};
  for (const VerifySize& size : sizes_of(scope, config, testing::small_digits().train.samples, true)) {
    const Dataset data = testing::first_digits(size.scope.samples);
    Verification verification(config, data, platform(DeviceKind::cpu), size.scope, folder.path());
    VerifyListener listener;
    listener.found = [&](const VerifyFinding& finding) {
      verified.passed = verified.passed && finding.verdict != VerifyFinding::Verdict::failed;
      verified.findings.push_back(finding);
    };
    verification.listen(listener);
    verification.check_size(config.strategies[0], size);
  }
  return verified;
}

TEST(VerifySize, FindsFaultsOfLargeSharesAndOfLateSteps) {
  EXPECT_THAT(failures(verify_sizes("scales large shares")), HasSubstr("equals one device on the global batch with shares of"));
  EXPECT_THAT(failures(verify_sizes("scales large shares late")), HasSubstr("equals one device on the global batch with shares of"));
  EXPECT_THAT(failures(verify_sizes("doubles large shares with adam")), HasSubstr("equals one device on the global batch with shares of"));
  EXPECT_THAT(failures(verify_sizes("scales late")), HasSubstr("equals one device on the global batch after 260 steps or more"));
  EXPECT_THAT(failures(verify_sizes("scales late", "local")), HasSubstr("with batch_norm: sync, equals one device on the global batch after"));
  EXPECT_THAT(failures(verify_sizes("scales late", "local", "true")), HasSubstr("bit for bit, after 260 steps or more"));
}

TEST(VerifySize, FindsWhatIsSavedWrongAfterManySteps) {
  constexpr char kResumes[] = "interrupted and resumed, it ends with the same weights";
  EXPECT_THAT(failures(verify_sizes("counts to 256")), HasSubstr(kResumes));
  EXPECT_THAT(failures(verify_sizes("counts to 256", "", "false", 2, 0.05, "true")), HasSubstr(std::string(kResumes) + " after 260 steps or more"));
  EXPECT_TRUE(verify_sizes("nothing", "", "false", 2, 0.05, "true").passed);
}

TEST(VerifySize, FindsFaultsOfTheConfigsOwnRatesAndEpochs) {
  constexpr char kOwn[] = "equals one device on the global batch with the learning rates of the config in 12 epochs";
  EXPECT_THAT(failures(verify_sizes("scales late epochs", "", "false", 12)), HasSubstr(kOwn));
  EXPECT_THAT(failures(verify_sizes("scales long trainings", "", "true", 12)), HasSubstr(kOwn));
  EXPECT_THAT(failures(verify_sizes("scales large rates", "", "false", 12, 0.2)), HasSubstr(kOwn));
  EXPECT_THAT(failures(verify_sizes("uncounted ninth epoch", "", "false", 12)), HasSubstr("the ranks' exchange is counted"));
  EXPECT_TRUE(verify_sizes("nothing", "", "false", 12, 0.2).passed);
  // Rounding decides such a training, so it is not judged.
  EXPECT_TRUE(verify_sizes("nothing", "", "false", 12, 50).passed);
}

TEST(VerifySize, HasTheFirstEpochsOfALongConfig) {
  Config config;
  config.epochs = 164;
  for (const bool quick : {true, false}) {
    const std::vector<VerifySize> sizes = sizes_of(quick ? quick_scope() : VerifyScope(), config, kSamples, quick);
    const VerifySize& own = sizes.at(sizes.size() - 2);
    EXPECT_EQ(own.what, quick ? "with the learning rates of the config in the first 16 of 164 epochs"
                              : "with the learning rates of the config in the first 60 of 164 epochs");
    EXPECT_EQ(extent_of(own.scope, own.scope.optimizers.front(), true).steps_per_epoch, 3u);
  }
}

TEST(VerifySize, FindsFaultsOfShortFullAndSingleSteps) {
  EXPECT_THAT(failures(verify_sizes("drops small batches")), HasSubstr("and of an eighth of a batch"));
  EXPECT_THAT(failures(verify_sizes("drops full last batches")), HasSubstr("in epochs of one step"));
  EXPECT_THAT(failures(verify_sizes("scales single steps")), HasSubstr("in epochs of one step"));
}

TEST(VerifySize, HonestStrategiesPass) {
  for (const char* batch_norm : {"", "local", "sync"})
    for (const char* in_rank_order : {"false", "true"}) {
      const Verified verified = verify_sizes("nothing", batch_norm, in_rank_order);
      EXPECT_TRUE(verified.passed) << batch_norm << "\n" << failures(verified);
      EXPECT_GE(verified.findings.size(), 4u);
    }
}

}  // namespace
}  // namespace mgcompare
