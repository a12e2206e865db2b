#pragma once

// A replica without a network, whose gradient is given by a function. Tests compare a strategy's result on known
// gradients with a calculation by hand.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "model/optimizer.h"
#include "modules/strategy_options.h"
#include "strategy_plugins.h"
#include "training/fixture.h"

namespace mgcompare::testing {

// The mean gradient of the samples in `batch`'s share, for one element.
using Slope = std::function<float(const Batch& batch, std::size_t element, float weight)>;

class Puppet : public Replica {
 public:
  Puppet(Device& device, std::size_t size, const OptimizerConfig& optimizer, Slope slope)
      : device_(device), slope_(std::move(slope)), config_(optimizer), weights_(device, size), gradients_(device, size),
        parts_{{"all.weight", "all", {size}, {0, size}, true}}, optimizer_(make_host_optimizer(optimizer, parts_, &device)) {}

  Vec weights() override { return weights_; }
  Vec gradients() override { return gradients_; }
  const std::vector<Part>& parts() const override { return parts_; }
  Vec buffers() override { return {}; }
  using Replica::backward;
  void backward(const Batch& batch, const Ready& ready, Scale scale) override {
    batch_ = batch;
    const float part = scale == Scale::own_share ? 1.0f : static_cast<float>(batch.size()) / static_cast<float>(batch.global_size());
    for (std::size_t i = 0; i < weights_.size(); ++i)
      gradients_[i] = batch.size() == 0 ? 0 : part * slope_(batch, i, weights_[i]);
    if (ready) ready(gradients_);
  }
  Vec forward(const Batch&) override { throw Error("a puppet has no network"); }
  Vec forward(const Batch&, ConstVec) override { throw Error("a puppet has no network"); }
  void loss(const Batch&, ConstVec, Vec, Scale) override { throw Error("a puppet has no network"); }
  void backward_from(const Batch&, ConstVec, const Ready&) override { throw Error("a puppet has no network"); }
  std::size_t classes() const override { return 1; }
  std::size_t outputs() const override { return 1; }
  std::size_t inputs() const override { return 1; }
  void read(const Batch&, Vec) override { throw Error("a puppet has no data"); }
  using Replica::update;
  void update(Range range) override {
    optimizer_->advance();
    optimizer_->apply(weights_, gradients_.span(), range, *batch_);
  }
  Optimizer& optimizer() override { return *optimizer_; }
  std::unique_ptr<Optimizer> host_optimizer(bool) override { return make_host_optimizer(config_, parts_, &device_); }
  std::unique_ptr<Optimizer> device_optimizer(bool) override { return make_host_optimizer(config_, parts_, &device_); }
  Device& device() override { return device_; }
  void metric(std::string_view name, double value) override { metrics[std::string(name)] = value; }
  void histogram(std::string_view, std::uint64_t) override {}
  void record(std::string_view, const std::vector<double>&) override {}
  Random random(std::uint64_t stream) const override { return Random(1, stream); }

  std::map<std::string, double> metrics;  // the last value of each

 private:
  Device& device_;
  Slope slope_;
  OptimizerConfig config_;
  Array<float> weights_, gradients_;
  std::vector<Part> parts_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<Batch> batch_;
};

struct Play {
  std::string plugin;
  std::vector<OptionConfig> options;
  std::size_t ranks = 2;
  std::size_t elements = 3;
  std::size_t steps = 8;
  std::size_t global_batch = 24;
  float first_weight = 0;           // of every element
  double rate = 0.1, momentum = 0;
  Slope slope;
  std::vector<std::uint32_t> order;  // of the ranks' exclusive sections, all of the first stripe; empty: any order
};

struct Played {
  std::vector<std::vector<std::vector<float>>> weights;   // [rank][steps done][element], from 0 steps on
  std::vector<std::vector<std::vector<float>>> settled;   // the same, from settle() after each step, or after the last
  std::vector<std::map<std::string, double>> metrics;     // [rank]
};

// Runs the strategy on every rank. With `settles` it also settles after each step, which must not change the training.
inline Played play(const Play& play, bool settles = false) {
  Played played;
  played.weights.resize(play.ranks);
  played.settled.resize(play.ranks);
  played.metrics.resize(play.ranks);
  Facts facts;
  facts.ranks = static_cast<int>(play.ranks);
  facts.global_batch = play.global_batch;
  facts.steps_per_epoch = play.steps;
  facts.epochs = 1;
  facts.optimizer = "sgd";
  facts.momentum = play.momentum;
  facts.ordered = !play.order.empty();
  OptimizerConfig optimizer;
  optimizer.kind = OptimizerKind::sgd;
  optimizer.momentum = play.momentum;
  optimizer.weight_decay = 0;
  const std::string file = file_of_plugin(play.plugin);
  const Shape shape = {1};
  ScheduleLog record;
  record.epochs[0][0] = play.order;
  std::unique_ptr<AsyncScheduler> owned = play.order.empty() ? live_scheduler() : replay_scheduler(play.ranks, record);
  AsyncScheduler& scheduler = *owned;
  const auto body = [&](Device& device, RankGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    StrategyOptions options(play.options);
    const std::unique_ptr<Strategy> strategy = make_strategy(file, options, facts);
    Puppet puppet(device, play.elements, optimizer, play.slope);
    for (float& weight : puppet.weights()) weight = play.first_weight;
    strategy->start(puppet, group);
    const auto keep = [](Vec vector) { return std::vector<float>(vector.begin(), vector.end()); };
    played.weights[rank].push_back(keep(puppet.weights()));
    scheduler.enter(rank, 0);
    group.barrier();
    for (std::size_t step = 0; step < play.steps; ++step) {
      strategy->step(puppet, group, Batch({0, step, step * play.global_batch, play.global_batch, rank, play.ranks, play.rate}, shape));
      played.weights[rank].push_back(keep(puppet.weights()));
      if (settles) played.settled[rank].push_back(keep(strategy->settle(puppet, group)));
    }
    scheduler.leave(rank);
    group.barrier();
    if (!settles) played.settled[rank].push_back(keep(strategy->settle(puppet, group)));
    played.metrics[rank] = puppet.metrics;
    group.barrier();
  };
  spawn(play.ranks, body, std::move(owned));
  return played;
}

// A random order in which each rank has the given number of sections.
inline std::vector<std::uint32_t> some_order(std::size_t ranks, std::size_t sections) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) order.insert(order.end(), sections, rank);
  std::shuffle(order.begin(), order.end(), std::minstd_rand(5));
  return order;
}

// The rank that owns this share, if every rank has one sample.
inline std::size_t rank_of(const Batch& batch) { return batch.begin() - batch.whole().begin(); }

}  // namespace mgcompare::testing
