#include "compression.h"

#include "plugins/onebit/exchange.h"

namespace mgcompare {
namespace {

using namespace testing;
using onebit::Columns;
using onebit::Exchange;
using onebit::Orientation;

// Runs several exchanges on several ranks; calls ask(rank, step, gradients, exchange) after each.
void exchange(const std::vector<Part>& parts, Orientation orientation, unsigned bits, std::size_t ranks, std::size_t steps,
              const std::function<std::vector<float>(std::size_t rank, std::size_t step)>& gradient,
              const std::function<void(std::size_t, std::size_t, Vec, Exchange&)>& ask, bool keep = true) {
  const Columns columns = onebit::columns_of(parts, orientation, bits);
  std::mutex mutex;
  spawn(ranks, [&](Device& device, RankGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    Exchange exchange(device, columns, bits, keep, size_of(parts), rank, ranks);
    const Array<float> gradients = device_array<float>(device, size_of(parts));
    for (std::size_t step = 0; step < steps; ++step) {
      set(gradients, gradient(rank, step));
      exchange.run(device, group, gradients.span());
      const std::lock_guard lock(mutex);
      ask(rank, step, gradients.span(), exchange);
    }
  });
}

std::size_t wire_bytes(const std::vector<Part>& parts, Orientation orientation, unsigned bits = 1) {
  return onebit::columns_of(parts, orientation, bits).first_word.back() * sizeof(std::uint32_t);
}

TEST(OneBit, PacksOneBitAnElementAndTwoFloatsAColumn) {
  EXPECT_EQ(wire_bytes(lenet_parts(), Orientation::output), 58'672u);
  EXPECT_EQ(wire_bytes(lenet_parts(), Orientation::input), 72'012u);
  EXPECT_EQ(wire_bytes(mlp_parts(), Orientation::output), 15'572u);
  EXPECT_EQ(wire_bytes(mlp_parts(), Orientation::input), 21'684u);
  // Four bits take four words where one bit takes one.
  EXPECT_EQ(wire_bytes(parts_with({{3, 33}}), Orientation::output, 4), 3 * (8 + 4 * 2 * 4u));
}

TEST(OneBit, WholeGradientsOfTheWarmUpAreNotCalledCompressed) {
  for (const std::size_t warm_up : {0, 1}) {
    Trial trial = small_trial(2, "onebit", {{"warm_up_epochs", std::to_string(warm_up), false, {}}});
    trial.config.epochs = 1;
    const Result result = run(trial).result;
    EXPECT_EQ(result.metrics[0].at("compression").last == 1, warm_up == 1);
  }
}

TEST(OneBit, SendsTheBytesOfTheFormula) {
  for (const auto& [orientation, bytes] : {std::pair{"output", 58672.0}, std::pair{"input", 72012.0}}) {
    Trial trial = small_trial(2, "onebit", {{"orientation", orientation, false, {}}});
    trial.config.model = lenet_model();
    trial.config.epochs = 1;
    const Result result = run(trial, {}, [](TrainingRequest& request) { request.most_steps = 2; }).result;
    // Sent once to the owners and once back to all, half of the bytes each time.
    EXPECT_NEAR(result.bytes_per_step, bytes, 1);
    EXPECT_NEAR(result.metrics[0].at("compression").last, 1'724'320.0 / bytes, 1e-9);
  }
}

TEST(OneBit, StripesCoverAllColumnsOnceForAnyNumberOfRanks) {
  for (const Orientation orientation : {Orientation::output, Orientation::input})
    for (const std::vector<Part>& parts : {odd_parts(), lenet_parts()}) {
      const Columns columns = onebit::columns_of(parts, orientation, 1);
      std::vector<int> covered(size_of(parts));
      for (const Segment& segment : columns.segments)
        for (std::uint32_t j = 0; j < segment.count; ++j) ++covered[segment.begin + j * segment.stride];
      EXPECT_THAT(covered, ::testing::Each(1));
      for (const std::size_t ranks : {1u, 2u, 3u, 4u, 7u, 8u, 64u, 3000u}) {
        std::size_t at = 0;
        for (const Range& stripe : onebit::stripes_of(columns, ranks)) {
          EXPECT_EQ(stripe.begin, at);
          EXPECT_GE(stripe.end, stripe.begin);
          at = stripe.end;
        }
        EXPECT_EQ(at, columns.segments.size()) << ranks;
      }
    }
}

TEST(OneBit, WhatIsNotTransmittedIsInTheResiduals) {
  const std::vector<Part> parts = odd_parts();
  constexpr std::size_t kSteps = 5;
  for (const Orientation orientation : {Orientation::output, Orientation::input})
    for (const unsigned bits : {1u, 2u, 4u, 8u})
      for (const std::size_t ranks : {2u, 3u, 8u, 70u}) {
        std::vector<double> balance(size_of(parts));
        exchange(parts, orientation, bits, ranks, kSteps,
                 [&](std::size_t rank, std::size_t step) { return gradient_of(rank, step, size_of(parts)); },
                 [&](std::size_t rank, std::size_t step, Vec out, Exchange& exchange) {
                   const std::vector<float> pushed = gradient_of(rank, step, size_of(parts));
                   for (std::size_t i = 0; i < balance.size(); ++i) {
                     balance[i] += static_cast<double>(pushed[i]);
                     if (rank == 0) balance[i] -= static_cast<double>(out[i]);
                     if (step == kSteps - 1)
                       balance[i] -= static_cast<double>(exchange.residual()[i]) + static_cast<double>(exchange.sum_residual()[i]);
                   }
                 });
        for (const double left : balance) ASSERT_NEAR(left, 0, 1e-4 * static_cast<double>(ranks)) << bits << " bits, " << ranks << " ranks";
      }
}

TEST(OneBit, AnExchangeEqualsAPlainReference) {
  const std::vector<Part> parts = odd_parts();
  const Columns columns = onebit::columns_of(parts, Orientation::output, 1);
  std::vector<float> seen;
  exchange(parts, Orientation::output, 1, 2, 1,
           [&](std::size_t rank, std::size_t) { return gradient_of(rank, 0, size_of(parts)); },
           [&](std::size_t, std::size_t, Vec out, Exchange&) { seen = values_of(out); });
  const auto quantised = [&](const std::vector<double>& vector) {
    std::vector<double> out(vector.size());
    for (const Segment& segment : columns.segments) {
      double sums[2] = {}, counts[2] = {};
      for (std::uint32_t j = 0; j < segment.count; ++j) {
        const double value = vector[segment.begin + j];
        sums[value >= 0] += value;
        counts[value >= 0] += 1;
      }
      for (std::uint32_t j = 0; j < segment.count; ++j) {
        const std::size_t i = segment.begin + j;
        out[i] = sums[vector[i] >= 0] / counts[vector[i] >= 0];
      }
    }
    return out;
  };
  std::vector<double> sum(size_of(parts));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const std::vector<float> gradient = gradient_of(rank, 0, sum.size());
    const std::vector<double> told = quantised({gradient.begin(), gradient.end()});
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += told[i];
  }
  const std::vector<double> expected = quantised(sum);
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(seen[i], expected[i], 1e-5) << i;
}

TEST(OneBit, ColumnSumsArePreserved) {
  const std::vector<Part> parts = odd_parts();
  for (const Orientation orientation : {Orientation::output, Orientation::input}) {
    const Columns columns = onebit::columns_of(parts, orientation, 1);
    std::vector<double> pushed(columns.segments.size()), sent(columns.segments.size());
    const auto add = [&](std::vector<double>& sums, auto&& vector) {
      for (std::size_t c = 0; c < sums.size(); ++c)
        for (std::uint32_t j = 0; j < columns.segments[c].count; ++j)
          sums[c] += static_cast<double>(vector[columns.segments[c].begin + j * columns.segments[c].stride]);
    };
    exchange(parts, orientation, 1, 3, 1,
             [&](std::size_t rank, std::size_t step) { return gradient_of(rank, step, size_of(parts)); },
             [&](std::size_t rank, std::size_t step, Vec out, Exchange&) {
               add(pushed, gradient_of(rank, step, size_of(parts)));
               if (rank == 0) add(sent, out);
             });
    for (std::size_t c = 0; c < sent.size(); ++c) EXPECT_NEAR(sent[c], pushed[c], 1e-4) << c;
  }
}

TEST(OneBit, ConstantColumnsAreExactAndZerosStayZeros) {
  const std::vector<Part> parts = odd_parts();
  for (const unsigned bits : {1u, 2u, 4u, 8u})
    for (const float value : {0.75f, -3.0f, 0.0f}) {
      if (bits > 1 && value != 0) continue;  // a range has no level at these values
      exchange(parts, Orientation::output, bits, 3, 2,
               [&](std::size_t, std::size_t) { return std::vector<float>(size_of(parts), value); },
               [&](std::size_t, std::size_t, Vec out, Exchange& exchange) {
                 EXPECT_THAT(values_of(out), ::testing::Each(3 * value)) << bits;
                 EXPECT_THAT(values_of(exchange.residual()), ::testing::Each(0.0f)) << bits;
                 EXPECT_THAT(values_of(exchange.sum_residual()), ::testing::Each(0.0f)) << bits;
               });
    }
}

TEST(OneBit, PermutedRowsArePermutedOutput) {
  const std::vector<Part> parts = parts_with({{3, 70}});
  const auto numbers = [](bool turned) {
    return [turned](std::size_t rank, std::size_t) {
      std::vector<float> gradient(210);
      for (std::size_t i = 0; i < 210; ++i) {
        const std::size_t row = turned ? 69 - i % 70 : i % 70;
        gradient[i] = static_cast<float>(static_cast<int>((i / 70 * 31 + row * 17 + rank * 5) % 23) - 11);
      }
      return gradient;
    };
  };
  std::vector<float> straight, turned;
  const auto keep = [](std::vector<float>& into) {
    return [&into](std::size_t, std::size_t, Vec out, Exchange&) { into = values_of(out); };
  };
  exchange(parts, Orientation::output, 1, 2, 1, numbers(false), keep(straight));
  exchange(parts, Orientation::output, 1, 2, 1, numbers(true), keep(turned));
  for (std::size_t i = 0; i < 210; ++i) ASSERT_NEAR(straight[i], turned[i / 70 * 70 + 69 - i % 70], 1e-5) << i;
}

TEST(OneBit, MoreBitsTellMore) {
  const std::vector<Part> parts = parts_with({{10, 1000}});
  double former = INFINITY;
  for (const unsigned bits : {1u, 4u, 8u}) {
    double error = 0, size = 0;
    exchange(parts, Orientation::output, bits, 2, 1, [](std::size_t, std::size_t) { return gradient_of(0, 0, 10'000); },
             [&](std::size_t rank, std::size_t, Vec out, Exchange& exchange) {
               if (rank != 0) return;
               for (std::size_t i = 0; i < out.size(); ++i) {
                 error += static_cast<double>(exchange.residual()[i]) * static_cast<double>(exchange.residual()[i]);
                 size += 1;
               }
             });
    // On a normal distribution one bit leaves 1 - 2 / pi of the squared norm (Max, 1960).
    if (bits == 1) { EXPECT_NEAR(error / size, 0.363, 0.02); }
    EXPECT_LT(error, former / 4);
    former = error;
  }
}

TEST(OneBit, WithoutResidualNothingIsKept) {
  const std::vector<Part> parts = odd_parts();
  std::vector<float> first;
  exchange(parts, Orientation::output, 1, 2, 2, [&](std::size_t rank, std::size_t) { return gradient_of(rank, 0, size_of(parts)); },
           [&](std::size_t rank, std::size_t step, Vec out, Exchange& exchange) {
             EXPECT_TRUE(exchange.residual().empty());
             if (rank == 0 && step == 0) first = values_of(out);
             if (rank == 0 && step == 1) { EXPECT_EQ(values_of(out), first); }
           },
           false);
}

TEST(OneBit, WholeGradientsAreAPlainAllReduce) {
  const std::vector<float> plain = run(small_trial(3, "replicated")).weights[0];
  EXPECT_EQ(run(small_trial(3, "onebit", {{"bits", "32", false, {}}})).weights[0], plain);
  EXPECT_EQ(run(small_trial(3, "onebit", {{"warm_up_epochs", "2", false, {}}})).weights[0], plain);
  EXPECT_NE(run(small_trial(3, "onebit", {{"warm_up_epochs", "1", false, {}}})).weights[0], plain);
}

TEST(OneBit, AllRanksHaveOneModel) {
  expect_one_model("onebit", {});
  expect_one_model("onebit", {{"bits", "4", false, {}}, {"orientation", "input", false, {}}});
}

TEST(OneBit, ResumesWithItsResiduals) {
  expect_resumes("onebit", {});
  expect_resumes("onebit", {{"bits", "2", false, {}}, {"warm_up_epochs", "1", false, {}}});
  expect_resumes("onebit", {{"residual", "false", false, {}}});
}

TEST(OneBit, RefusesWhatDoesNotFit) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  using ::testing::StartsWith;
  EXPECT_THAT(problems_of("onebit", {{"bits", "8", false, {}}, {"orientation", "input", false, {}}}), IsEmpty());
  for (const char* bits : {"0", "3", "33", "one"})
    EXPECT_THAT(problems_of("onebit", {{"bits", bits, false, {}}}), ElementsAre(StartsWith("bits: "))) << bits;
  EXPECT_THAT(problems_of("onebit", {{"orientation", "row", false, {}}}), ElementsAre(StartsWith("orientation: ")));
  EXPECT_THAT(problems_of("onebit", {{"warm_up_epochs", "-1", false, {}}}), ElementsAre(StartsWith("warm_up_epochs: ")));
  EXPECT_THAT(problems_of("onebit", {{"residual", "7", false, {}}}), ElementsAre(StartsWith("residual: ")));
}

}  // namespace
}  // namespace mgcompare
