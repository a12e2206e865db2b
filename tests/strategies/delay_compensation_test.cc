#include "free_running.h"
#include "plugins/async_sgd/rules.h"
#include "puppet.h"

namespace mgcompare {
namespace {

using namespace testing;

const std::vector<OptionValues> kCompensated = {
    {{"delay_compensation", "0.04"}},
    {{"delay_compensation", "0.04"}, {"compensation", "adaptive"}},
    {{"delay_compensation", "0.5"}, {"compensation", "adaptive"}, {"rule", "softsync"}},
    {{"delay_compensation", "2"}, {"compensation", "adaptive"}, {"server", "device"}, {"lock", "striped"}, {"stripes", "3"}},
};

// On its first visit to the server a rank pulls. On every later one it pushes the gradient at the weights that it
// pulled, and pulls again.
constexpr std::size_t kRanks = 3, kVisits = 9, kElements = 4;
constexpr double kRate = 0.1;

double slope_of(std::size_t rank, std::size_t step, std::size_t element, double weight) {
  return (1 + static_cast<double>(element)) * (weight - static_cast<double>(rank) + 0.3 * static_cast<double>(step));
}

// Returns the server's weights after all visits in this order.
std::vector<float> played_in_order(const OptionValues& settings, const std::vector<std::uint32_t>& visits) {
  Play given;
  given.plugin = "async_sgd";
  given.options = options_of(settings);
  given.ranks = given.global_batch = kRanks;
  given.elements = kElements;
  given.steps = kVisits - 1;
  given.first_weight = 1;
  given.rate = kRate;
  given.order = visits;
  given.slope = [](const Batch& batch, std::size_t element, float weight) {
    return static_cast<float>(slope_of(rank_of(batch), batch.step(), element, static_cast<double>(weight)));
  };
  return play(given).settled[0].back();
}

// Zheng et al. in double precision: g + lambda g g (w - w_pulled). If adaptive, lambda is divided by the root of m =
// 0.95 m + 0.05 g g.
std::vector<double> in_double(double lambda, bool adaptive, const std::vector<std::uint32_t>& visits) {
  std::vector<double> weights(kElements, 1), mean_square(kElements, 0);
  std::vector<std::vector<double>> pulled(kRanks);
  std::vector<std::size_t> steps(kRanks, 0);
  for (const std::uint32_t rank : visits) {
    for (std::size_t i = 0; i < kElements && !pulled[rank].empty(); ++i) {
      const double gradient = slope_of(rank, steps[rank], i, pulled[rank][i]), square = gradient * gradient;
      mean_square[i] = 0.95 * mean_square[i] + 0.05 * square;
      const double strength = adaptive ? lambda / std::sqrt(mean_square[i] + 1e-7) : lambda;
      weights[i] -= kRate * (gradient + strength * square * (weights[i] - pulled[rank][i]));
    }
    if (!pulled[rank].empty()) ++steps[rank];
    pulled[rank] = weights;
  }
  return weights;
}

TEST(DelayCompensation, FollowsThePaperInARecordedOrder) {
  const std::vector<std::uint32_t> visits = some_order(kRanks, kVisits);
  const auto largest_gap = [](const std::vector<float>& seen, const std::vector<double>& expected) {
    double gap = 0;
    for (std::size_t i = 0; i < kElements; ++i) gap = std::max(gap, std::abs(static_cast<double>(seen.at(i)) - expected[i]));
    return gap;
  };
  const std::vector<double> plain = in_double(0, false, visits);
  for (const char* server : {"host", "device"}) {
    const OptionValues common = {{"server", server}, {"lock", "global"}, {"staleness", "none"}};
    EXPECT_LT(largest_gap(played_in_order(common, visits), plain), 1e-5) << server;
    for (const bool adaptive : {false, true})
      for (const char* lambda : {"0.02", "0.3"}) {
        const OptionValues settings = with(with(common, {"delay_compensation", lambda}), {"compensation", adaptive ? "adaptive" : "constant"});
        const std::vector<float> seen = played_in_order(settings, visits);
        EXPECT_LT(largest_gap(seen, in_double(std::stod(lambda), adaptive, visits)), 1e-5) << text_of(settings);
        EXPECT_GT(largest_gap(seen, plain), 1e-3) << text_of(settings) << "it makes a difference";
      }
  }
}

TEST(DelayCompensation, ByNothingIsNoneToTheBit) {
  for (const OptionValues& settings : {OptionValues{}, {{"server", "device"}}, {{"rule", "softsync"}}})
    EXPECT_EQ(run(free_trial(3, "async_sgd", with(settings, {"delay_compensation", "0"}))).weights,
              run(free_trial(3, "async_sgd", settings)).weights)
        << text_of(settings);
}

// With lambda 0, and at the weights that were pulled.
TEST(DelayCompensation, WithoutAForceOrADelayGradientsStayAsTheyAre) {
  const std::vector<float> original = {2, 3e-5f, -4}, weights = {1, -2, 0.5f}, pulled = {0.5f, -2, 1.5f};
  for (const bool adaptive : {false, true})
    for (const bool moved : {false, true}) {
      const float* const before = moved ? pulled.data() : weights.data();
      const float strength = moved ? 0.0f : 0.04f;
      std::vector<float> gradient = original, mean_square = {0, 1, 4};
      for (std::size_t i = 0; i < 3; ++i) {
        if (adaptive) async_sgd::CompensateAdaptively{gradient.data(), weights.data(), before, mean_square.data(), strength}(i);
        else async_sgd::Compensate{gradient.data(), weights.data(), before, strength}(i);
      }
      EXPECT_EQ(gradient, original) << adaptive << moved;
    }
}

TEST(DelayCompensation, AloneItIsOneDeviceToTheBit) {
  const std::vector<float> plain = run(free_trial(1, ""), [](Options&, const Facts&) { return make_reference(1); }).weights[0];
  for (const OptionValues& settings : kCompensated) EXPECT_EQ(run(free_trial(1, "async_sgd", settings)).weights[0], plain) << text_of(settings);
}

TEST(DelayCompensation, AServerOnADeviceComputesWhatOneOnTheHostDoes) {
  for (const char* compensation : {"constant", "adaptive"}) {
    const OptionValues settings = {{"delay_compensation", "0.5"}, {"compensation", compensation}};
    EXPECT_EQ(run(free_trial(3, "async_sgd", settings)).weights,
              run(free_trial(3, "async_sgd", with(settings, {"server", "device"}))).weights)
        << compensation;
  }
}

TEST(DelayCompensation, ReplaysAndResumesToTheBit) {
  for (const OptionValues& settings : kCompensated) {
    expect_replayable(free_trial(4, "async_sgd", settings), text_of(settings));
    expect_resumable(free_trial(3, "async_sgd", settings), text_of(settings));
  }
}

TEST(DelayCompensation, OptionsThatMakeNoSenseAreRefusedByName) {
  Facts facts;
  facts.ranks = 4;
  facts.optimizer = "sgd";
  const auto keys = [&](const OptionValues& settings) { return refused("async_sgd", settings, facts); };
  using Keys = std::vector<std::string>;
  for (const OptionValues& settings : kCompensated) EXPECT_EQ(keys(settings), Keys{}) << text_of(settings);
  EXPECT_EQ(keys({{"compensation", "adaptive"}}), Keys{"compensation"});
  EXPECT_EQ(keys({{"delay_compensation", "0"}, {"compensation", "constant"}}), Keys{"compensation"});
  EXPECT_EQ(keys({{"delay_compensation", "1"}, {"compensation", "paper"}}), Keys{"compensation"});
  EXPECT_EQ(keys({{"delay_compensation", "-1"}}), Keys{"delay_compensation"});
  EXPECT_EQ(keys({{"rule", "hogwild"}, {"delay_compensation", "0.1"}}), Keys{"delay_compensation"});
}

}  // namespace
}  // namespace mgcompare
