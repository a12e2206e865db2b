// Each method of Replica, and known schemes that no shipped plugin uses yet, written with the SDK only.

#include <gmock/gmock.h>

#include <cmath>
#include <mutex>

#include "fixture.h"
#include "mgcompare/arithmetic.h"
#include "check/reference.h"
#include "plugins/top_k/select.h"

namespace mgcompare {
namespace {

using testing::largest_difference;
using testing::run;
using testing::small_trial;

// A strategy whose step is a function; everything else is the minimum.
class Scripted : public Strategy {
 public:
  using Step = std::function<void(Replica&, Group&, const Batch&)>;
  explicit Scripted(Step step, Traits traits = {.promise = Traits::Promise::exact}) : step_(std::move(step)), traits_(traits) {}
  Traits traits() const override { return traits_; }
  void step(Replica& replica, Group& group, const Batch& batch) override { step_(replica, group, batch); }

 private:
  Step step_;
  Traits traits_;
};

MakeStrategy scripted(const Scripted::Step& step) {
  return [step](Options&, const Facts&) { return std::make_unique<Scripted>(step); };
}

TrainingOutcome run_for(const Trial& trial, std::size_t steps, const MakeStrategy& make) {
  return run(trial, make, [&](TrainingRequest& request) {
    request.most_steps = steps;
    request.evaluate = false;
  });
}

std::vector<float> plain() { return run(small_trial(1), [](Options&, const Facts&) { return make_reference(1); }).weights[0]; }

TEST(Replica, PartsCoverTheFlatVectorInOrder) {
  run_for(small_trial(1), 1, scripted([](Replica& replica, Group&, const Batch&) {
    std::size_t next = 0;
    for (const Part& part : replica.parts()) {
      EXPECT_EQ(part.range.begin, next);
      std::size_t elements = 1;
      for (const std::size_t extent : part.shape) elements *= extent;
      EXPECT_EQ(part.range.size(), elements) << part.name;
      EXPECT_EQ(part.decays, part.shape.size() > 1) << part.name;
      EXPECT_EQ(part.name.rfind(part.layer, 0), 0u) << part.name;
      next = part.range.end;
    }
    EXPECT_EQ(next, replica.weights().size());
    EXPECT_EQ(replica.gradients().size(), replica.weights().size());
    EXPECT_EQ(replica.buffers().size(), 0u);
    EXPECT_EQ(replica.classes(), 10u);
    EXPECT_EQ(replica.outputs(), 10u);
  }));
}

TEST(Replica, ReadySlicesComeFromTheEndWithoutGapsAlsoForAnEmptyShare) {
  for (const std::size_t ranks : {1u, 8u}) {
    Trial trial = small_trial(ranks);
    trial.global_batch = 5;
    run_for(trial, 2, scripted([](Replica& replica, Group&, const Batch& batch) {
      const Vec gradients = replica.gradients();
      std::size_t end = gradients.size();
      replica.backward(batch, [&](Vec slice) {
        EXPECT_EQ(slice.data() + slice.size(), gradients.data() + end);
        EXPECT_GT(slice.size(), 0u);
        end -= slice.size();
      });
      EXPECT_EQ(end, 0u);
      double size = 0;
      for (const float value : gradients) size += std::abs(static_cast<double>(value));
      if (batch.size() == 0) EXPECT_EQ(size, 0);
      else EXPECT_GT(size, 0);
    }));
  }
}

TEST(Replica, ScaleIsOfTheGlobalBatchOrOfTheOwnShare) {
  run_for(small_trial(4), 1, scripted([](Replica& replica, Group&, const Batch& batch) {
    replica.backward(batch, Scale::own_share);
    const std::vector<float> own(replica.gradients().begin(), replica.gradients().end());
    replica.backward(batch);
    const double ratio = static_cast<double>(batch.global_size()) / static_cast<double>(batch.size());
    for (std::size_t i = 0; i < own.size(); ++i)
      ASSERT_NEAR(static_cast<double>(own[i]), ratio * static_cast<double>(replica.gradients()[i]), 1e-6);
  }));
}

TEST(Replica, ForwardLossAndBackwardFromAreBackward) {
  run_for(small_trial(3), 2, scripted([](Replica& replica, Group&, const Batch& batch) {
    replica.backward(batch);
    const std::vector<float> whole(replica.gradients().begin(), replica.gradients().end());
    const Vec logits = replica.forward(batch);
    ASSERT_EQ(logits.size(), batch.size() * replica.classes());
    const Array<float> dlogits = device_array<float>(replica.device(), logits.size());
    replica.loss(batch, logits, dlogits.span());
    // Softmax minus one-hot: each row sums to zero.
    for (std::size_t row = 0; row < batch.size(); ++row) {
      double sum = 0;
      for (std::size_t c = 0; c < replica.classes(); ++c) sum += static_cast<double>(dlogits[row * replica.classes() + c]);
      EXPECT_NEAR(sum, 0, 1e-7);
    }
    replica.backward_from(batch, dlogits.span());
    for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_EQ(replica.gradients()[i], whole[i]);
  }));
}

TEST(Replica, UpdatingInPiecesIsOneUpdate) {
  for (const char* kind : {"sgd", "adam"}) {
    Trial trial = small_trial(1);
    trial.config.optimizer.kind = kind_named<OptimizerKind>(kind);
    trial.config.optimizer.learning_rate = 0.01;
    const TrainingOutcome whole = run_for(trial, 5, scripted([](Replica& replica, Group&, const Batch& batch) {
      replica.backward(batch);
      replica.update();
    }));
    const TrainingOutcome pieces = run_for(trial, 5, scripted([](Replica& replica, Group&, const Batch& batch) {
      replica.backward(batch);
      const std::size_t n = replica.weights().size();
      replica.update({n / 3, n});
      replica.update({0, n / 3});
    }));
    EXPECT_EQ(whole.weights, pieces.weights) << kind;
    EXPECT_EQ(pieces.result.updates, 5u) << kind;
  }
}

TEST(Replica, AnUpdateBeyondTheWeightsIsAnError) {
  const auto updating = [](const std::function<void(Replica&, const Batch&)>& update) {
    run_for(small_trial(1), 1, scripted([&](Replica& replica, Group&, const Batch& batch) {
      replica.backward(batch);
      update(replica, batch);
    }));
  };
  const auto is_told = ::testing::ThrowsMessage<Error>(::testing::HasSubstr("an update of elements"));
  EXPECT_THAT([&] { updating([](Replica& replica, const Batch&) { replica.update({0, replica.weights().size() + 1}); }); }, is_told);
  EXPECT_THAT([&] { updating([](Replica& replica, const Batch&) { replica.update({2, 1}); }); }, is_told);
  EXPECT_THAT([&] {
    updating([](Replica& replica, const Batch& batch) {
      const std::size_t size = replica.weights().size() + 1;
      replica.optimizer().apply({replica.weights().data(), size}, {replica.gradients().data(), size}, {0, size}, batch);
    });
  }, is_told);
  EXPECT_THAT([&] {
    updating([](Replica& replica, const Batch& batch) {
      const std::unique_ptr<Optimizer> optimizer = replica.host_optimizer();
      optimizer->apply(replica.weights(), replica.gradients(), {0, replica.weights().size() + 1}, batch);
    });
  }, is_told);
}

TEST(Replica, OptimisersOfOnesOwnUpdateAsTheReplicasDoes) {
  Trial trial = small_trial(1);
  const auto with = [&](bool on_host) {
    return run_for(trial, 6, [on_host](Options&, const Facts&) {
      auto optimizer = std::make_shared<std::unique_ptr<Optimizer>>();
      return std::make_unique<Scripted>([optimizer, on_host](Replica& replica, Group&, const Batch& batch) {
        if (!*optimizer) *optimizer = on_host ? replica.host_optimizer() : replica.device_optimizer();
        replica.backward(batch);
        (*optimizer)->update(replica.weights(), replica.gradients(), batch);
        EXPECT_EQ((*optimizer)->state().size(), 1u);
      });
    });
  };
  const TrainingOutcome own = run_for(trial, 6, scripted([](Replica& replica, Group&, const Batch& batch) {
    replica.backward(batch);
    replica.update();
  }));
  EXPECT_EQ(with(true).weights, own.weights);
  EXPECT_EQ(with(false).weights, own.weights);
}

TEST(Replica, ResetForgetsMomentum) {
  run_for(small_trial(1), 3, scripted([](Replica& replica, Group&, const Batch& batch) {
    replica.backward(batch);
    replica.update();
    double momentum = 0;
    const Vec state = replica.optimizer().state()[0];
    for (const float value : state) momentum += std::abs(static_cast<double>(value));
    EXPECT_GT(momentum, 0);
    replica.optimizer().reset();
    for (const float value : state) ASSERT_EQ(value, 0);
  }));
}

TEST(Replica, MetricsKeepMeanExtremesAndLast) {
  const TrainingOutcome outcome = run_for(small_trial(2), 4, scripted([](Replica& replica, Group& group, const Batch& batch) {
    replica.metric("figure", static_cast<double>(batch.step()) * (group.rank() + 1));
  }));
  const MetricResult& metric = outcome.result.metrics[1].at("figure");
  EXPECT_EQ(metric.count, 4u);
  EXPECT_EQ(metric.least, 0);
  EXPECT_EQ(metric.most, 6);
  EXPECT_EQ(metric.last, 6);
  EXPECT_EQ(metric.mean, 3);
}

TEST(Replica, NamesOfFiguresHaveLimits) {
  const auto records = [](std::size_t names, std::size_t length) {
    run_for(small_trial(1), 1, scripted([=](Replica& replica, Group&, const Batch&) {
      for (std::size_t i = 0; i < names; ++i) {
        std::string name = std::to_string(i);
        name.resize(std::max(length, name.size()), 'x');
        replica.metric(name, 1);
      }
    }));
  };
  EXPECT_NO_THROW(records(1000, 100));
  EXPECT_THAT([&] { records(1, 101); }, ::testing::ThrowsMessage<Error>(::testing::HasSubstr("has 101 bytes, and may have 100")));
  EXPECT_THAT([&] { records(1001, 1); }, ::testing::ThrowsMessage<Error>(::testing::HasSubstr("more than 1000 figures of different names")));
}

TEST(Replica, HistogramsCountEachValueAndPutLargeOnesTogether) {
  const TrainingOutcome outcome = run_for(small_trial(1), 4, scripted([](Replica& replica, Group&, const Batch& batch) {
    replica.histogram("value", batch.step() < 2 ? 3 : 1000 * batch.step());
  }));
  const MetricResult& metric = outcome.result.metrics[0].at("value");
  EXPECT_EQ(metric.count, 4u);
  EXPECT_EQ(metric.most, 3000);
  ASSERT_EQ(metric.counts.size(), 256u);
  EXPECT_EQ(metric.counts[3], 2u);
  EXPECT_EQ(metric.counts[255], 2u);
}

TEST(Replica, RandomStreamsDependOnRankAndStreamAndSeed) {
  const auto words = [](std::uint64_t seed) {
    std::mutex mutex;
    std::vector<std::uint32_t> all(4);
    Trial trial = small_trial(2);
    trial.seed = seed;
    trial.config.measure.warm_up_steps = 0;
    run_for(trial, 1, scripted([&](Replica& replica, Group& group, const Batch&) {
      const std::lock_guard lock(mutex);
      for (std::uint64_t stream = 0; stream < 2; ++stream)
        all[static_cast<std::size_t>(group.rank()) * 2 + stream] = replica.random(stream).word(0);
    }));
    return all;
  };
  const std::vector<std::uint32_t> first = words(1);
  EXPECT_EQ(first, words(1));
  EXPECT_NE(first, words(2));
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NE(first[i], first[0]);
}

TEST(Replica, TheDeviceMultipliesMatricesInEveryOrientation) {
  run_for(small_trial(1), 1, scripted([](Replica& replica, Group&, const Batch&) {
    constexpr std::size_t m = 5, n = 7, k = 3;
    Device& device = replica.device();
    const Array<float> a = device_array<float>(device, m * k), b = device_array<float>(device, k * n), c = device_array<float>(device, m * n);
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        for (std::size_t i = 0; i < m; ++i)
          for (std::size_t l = 0; l < k; ++l) a[ta ? l * m + i : i * k + l] = static_cast<float>(i + 2 * l);
        for (std::size_t l = 0; l < k; ++l)
          for (std::size_t j = 0; j < n; ++j) b[tb ? j * k + l : l * n + j] = static_cast<float>(3 * l) - static_cast<float>(j);
        for (float& value : c.span()) value = 1;
        device.matmul({a.data(), b.data(), c.data(), m, n, k, ta, tb, 2, 3});
        for (std::size_t i = 0; i < m; ++i)
          for (std::size_t j = 0; j < n; ++j) {
            float expected = 3;
            for (std::size_t l = 0; l < k; ++l) expected += 2 * static_cast<float>(i + 2 * l) * (static_cast<float>(3 * l) - static_cast<float>(j));
            EXPECT_NEAR(c[i * n + j], expected, 1e-4);
          }
      }
  }));
}

// Selects gradients by value and index; here all of them, so that the sum is complete.
TEST(Schemes, SparseGradientsOfEveryElementEqualPlainTraining) {
  const auto step = [](Replica& replica, Group& group, const Batch& batch) {
    Device& device = replica.device();
    replica.backward(batch);
    const Vec gradients = replica.gradients();
    const auto ranks = static_cast<std::size_t>(group.size());
    const Array<std::uint32_t> indices = device_array<std::uint32_t>(device, gradients.size()), found = device_array<std::uint32_t>(device, 1),
                               founds = device_array<std::uint32_t>(device, ranks);
    const float* g = gradients.data();
    top_k::select(device, gradients.size(), [=] MGCOMPARE_FUNCTION(std::size_t i) { return g[i] >= 0 || g[i] < 0; }, indices.span(), found.span(),
           device_array<std::uint64_t>(device, top_k::selection_scratch(gradients.size())));
    group.all_gather(found.span(), founds.span());
    device.synchronize();
    Counts counts(founds.span().begin(), founds.span().end());
    std::size_t total = 0;
    for (const std::size_t count : counts) total += count;
    const Array<float> values = device_array<float>(device, found[0]), all_values = device_array<float>(device, total);
    const Array<std::uint32_t> all_indices = device_array<std::uint32_t>(device, total);
    float* v = values.data();
    const std::uint32_t* at = indices.data();
    for_each(device, values.size(), [=] MGCOMPARE_FUNCTION(std::size_t k) { v[k] = g[at[k]]; });
    group.all_gather(values.span(), all_values.span(), counts);
    group.all_gather(indices.span().slice({0, values.size()}), all_indices.span(), counts);
    device.zero(gradients.data(), gradients.bytes());
    for (std::size_t k = 0; k < total; ++k) gradients[all_indices[k]] += all_values[k];
    replica.update();
  };
  EXPECT_LT(largest_difference(run(small_trial(3), scripted(step)).weights[0], plain()), 1e-5);
}

// Low-rank factors of full rank: their product is the original matrix.
TEST(Schemes, LowRankFactorsOfFullRankReproduceTheGradient) {
  run_for(small_trial(2), 1, scripted([](Replica& replica, Group& group, const Batch& batch) {
    Device& device = replica.device();
    replica.backward(batch);
    group.all_reduce(replica.gradients());
    const Part& part = replica.parts().at(2);
    ASSERT_EQ(part.shape.size(), 2u);
    const std::size_t n = part.shape[0], m = part.shape[1];
    const Vec matrix = replica.gradients().slice(part.range);
    // Any orthonormal basis of the row space works: here the identity of m columns.
    const Array<float> q = device_array<float>(device, m * m), p = device_array<float>(device, n * m), back = device_array<float>(device, n * m);
    for (std::size_t i = 0; i < m; ++i) q[i * m + i] = 1;
    device.matmul({matrix.data(), q.data(), p.data(), n, m, m});
    device.matmul({p.data(), q.data(), back.data(), n, m, m, false, true});
    for (std::size_t i = 0; i < matrix.size(); ++i) ASSERT_EQ(back[i], matrix[i]);
  }));
}

// A server on a device: ranks pull and push through its window, without the host.
TEST(Schemes, AServerOnADeviceAppliesWhatItsPeersAdd) {
  class DeviceServer : public Strategy {
   public:
    Traits traits() const override { return {.pace = Traits::Pace::free}; }
    void start(Replica& replica, Group& group) override {
      sum_ = device_array<float>(replica.device(), replica.weights().size());
      delta_ = device_array<float>(replica.device(), replica.weights().size());
      copy(replica.device(), sum_.span(), replica.weights());
      window_ = group.expose(sum_.span());
    }
    void step(Replica& replica, Group& group, const Batch& batch) override {
      group.exclusive(0, [&] { pulled_ = true; });
      group.peer(0).get(window_, 0, replica.weights());
      replica.backward(batch, Scale::own_share);
      const float rate = static_cast<float>(-batch.learning_rate() / group.size());
      for (std::size_t i = 0; i < delta_.size(); ++i) delta_[i] = rate * replica.gradients()[i];
      group.exclusive(0, [&] { pulled_ = false; });
      group.peer(0).add(window_, 0, delta_.span());
    }
    void rest(Replica&, Group& group) override {
      int& done = group.shared<int>("done");
      group.exclusive(0, [&] { ++done; });
      group.wait_until([&] { return done >= group.size(); });
    }
    Vec settle(Replica& replica, Group& group) override {
      group.peer(0).get(window_, 0, delta_.span());
      (void)replica;
      return delta_;
    }

   private:
    Array<float> sum_, delta_;
    int window_ = 0;
    bool pulled_ = false;
  };
  Trial trial = small_trial(3);
  trial.config.deterministic = false;
  trial.config.optimizer.momentum = 0;
  trial.config.epochs = 1;
  const TrainingOutcome outcome = run(trial, [](Options&, const Facts&) { return std::make_unique<DeviceServer>(); });
  EXPECT_EQ(outcome.result.samples, 730u);
  EXPECT_EQ(outcome.weights[0], outcome.weights[2]);
  EXPECT_GT(outcome.result.accuracy, 0.15);
}

}  // namespace
}  // namespace mgcompare
