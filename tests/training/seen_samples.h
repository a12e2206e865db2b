#pragma once

// What the ranks of a training read of its samples: through a network that returns its input.

#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "fixture.h"
#include "mgcompare/random.h"

namespace mgcompare::testing {

// 61 samples of 2 x 7 x 5 values of this type.
inline Dataset odd_samples(ElementType element) {
  Dataset set;
  set.spec.shape = {2, 7, 5};
  set.spec.element = element;
  set.spec.classes = 70;
  const Random random(5, 1);
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < 61 * 70; ++i) {
    const std::int32_t value = static_cast<std::int32_t>(random.below(i, 256));
    const float number = 0.1f * static_cast<float>(value);
    const std::int64_t large = value;
    const auto* const from = element == ElementType::uint8     ? static_cast<const void*>(&value)
                             : element == ElementType::float32 ? static_cast<const void*>(&number)
                             : element == ElementType::int32   ? static_cast<const void*>(&value)
                                                               : static_cast<const void*>(&large);
    bytes.resize(bytes.size() + size_of(element));
    std::memcpy(bytes.data() + bytes.size() - size_of(element), from, size_of(element));
  }
  set.train.samples = 61;
  set.train.values = SharedBytes(std::move(bytes));
  set.train.targets.assign(61, 3);
  set.test = part_of(set.train, 0, 10);
  return set;
}

// Adds a dense layer without weights to the input.
inline ModelConfig returning_its_input(std::size_t values) {
  LayerConfig flat, zero, sum;
  flat.type = LayerType::flatten;
  flat.name = "flat";
  zero.type = LayerType::dense;
  zero.name = "zero";
  zero.channels = values;
  zero.weights.kind = InitializerKind::zeros;
  sum.type = LayerType::add;
  sum.name = "sum";
  sum.inputs = {"flat", "zero"};
  return {"input", {flat, zero, sum}};
}

// Reads every sample and learns nothing.
class Onlooker : public Strategy {
 public:
  // The values by epoch and position in the epoch's order.
  using Seen = std::map<std::pair<std::size_t, std::size_t>, std::vector<float>>;

  explicit Onlooker(Seen& seen) : seen_(seen) {}
  Traits traits() const override { return {}; }
  void step(Replica& replica, Group&, const Batch& batch) override {
    const Vec values = replica.forward(batch);
    std::vector<float> host(values.size());
    replica.device().copy_to_host(host.data(), values.data(), values.bytes());
    replica.device().synchronize();
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    const auto size = static_cast<std::ptrdiff_t>(replica.classes());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto from = host.begin() + static_cast<std::ptrdiff_t>(i) * size;
      seen_[{batch.epoch(), batch.begin() + i}] = {from, from + size};
    }
  }

 private:
  Seen& seen_;
};

// What `ranks` ranks on one device see in three epochs of these samples, shifted, mirrored and normalised.
inline Onlooker::Seen seen_by(std::size_t ranks, DeviceKind kind, const Dataset& set, DataLocation on, std::size_t batch) {
  Trial trial = small_trial(ranks);
  trial.device_kind = kind;
  trial.global_batch = batch;
  trial.config.epochs = 3;
  trial.config.measure.warm_up_steps = 0;
  trial.config.model = returning_its_input(set.spec.classes);
  trial.config.data.on = on;
  trial.config.data.prepare.flip = true;
  trial.config.data.prepare.crop_padding = 2;
  trial.config.data.prepare.mean = {0.3, 0.7};
  trial.config.data.prepare.std = {0.21, 1.9};
  Onlooker::Seen seen;
  run(trial, [&seen](Options&, const Facts&) { return std::make_unique<Onlooker>(seen); },
      [&](TrainingRequest& request) {
        request.platform = &platform(kind);
        request.dataset = &set;
        request.evaluate = false;
      });
  return seen;
}

// Expects that 1, 2, 3 and 8 ranks see the same, to the bit, whatever the batch and the type of the samples.
inline void expect_the_same_samples(DeviceKind kind) {
  for (const ElementType element : {ElementType::uint8, ElementType::float32, ElementType::int32, ElementType::int64}) {
    const Dataset set = odd_samples(element);
    const Onlooker::Seen alone = seen_by(1, kind, set, DataLocation::device, 20);
    ASSERT_EQ(alone.size(), 3u * 61);
    for (const std::size_t ranks : {1u, 2u, 3u, 8u})
      for (const DataLocation on : {DataLocation::device, DataLocation::host})
        for (const std::size_t batch : {20u, 33u})
          ASSERT_EQ(seen_by(ranks, kind, set, on, batch), alone) << ranks << " ranks, batch " << batch << ", " << to_string(on);
  }
}

}  // namespace mgcompare::testing
