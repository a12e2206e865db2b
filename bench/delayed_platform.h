#pragma once

// A platform whose devices take longer in one part of each step, by a known time. Its results are those of the platform below it.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "delay.h"
#include "measure/step_clock.h"
#include "platform/platform.h"

namespace mgcompare {

enum class Delayed { nothing, compute, input, exchange, host };

struct PlantedDelay {
  Delayed part = Delayed::nothing;
  double seconds = 0;               // of each call
  int device = -1;                  // whose rank is delayed; -1: all
  bool applies(Delayed place, int index) const { return part == place && (device < 0 || device == index); }
};

// Calls of rank 0.
struct DelayedCalls {
  std::atomic<int> passes = 0;      // forward, in training
  std::atomic<int> exchanges = 0;
};

class DelayedNetwork : public Network {
 public:
  DelayedNetwork(std::unique_ptr<Network> network, Device& device, const PlantedDelay& delay, DelayedCalls& calls)
      : network_(std::move(network)), device_(device), delay_(delay), calls_(calls) {}
  Vec weights() override { return network_->weights(); }
  Vec gradients() override { return network_->gradients(); }
  Vec buffers() override { return network_->buffers(); }
  std::size_t classes() const override { return network_->classes(); }
  std::size_t outputs() const override { return network_->outputs(); }
  void reserve(std::size_t samples) override { network_->reserve(samples); }
  Vec forward(Feed& feed, std::size_t first, std::size_t count, const Pass& pass, ConstVec weights) override {
    if (pass.training && device_.index() == 0) ++calls_.passes;
    if (pass.training && delay_.applies(Delayed::input, device_.index())) {
      const StepClock::PhaseScope in(Phase::input);
      delay_device(device_, delay_.seconds, false);
    }
    const Vec logits = network_->forward(feed, first, count, pass, weights);
    if (pass.training && delay_.applies(Delayed::compute, device_.index())) delay_device(device_, delay_.seconds, false);
    return logits;
  }
  void loss(Feed& feed, std::size_t first, std::size_t count, ConstVec logits, Vec dlogits, float scale) override {
    network_->loss(feed, first, count, logits, dlogits, scale);
  }
  void backward(ConstVec dlogits, const Ready& ready, float share) override { network_->backward(dlogits, ready, share); }
  std::vector<Stored> stored() const override { return network_->stored(); }
  std::vector<std::string> computed_without_library() const override { return network_->computed_without_library(); }
  // The end of a step that the host issues.
  Tally take_tally() override {
    const Tally tally = network_->take_tally();
    if (delay_.applies(Delayed::host, device_.index())) delay_host(delay_.seconds);
    return tally;
  }
  void synchronize_batch_norm(std::function<void(Vec)> all_reduce) override { network_->synchronize_batch_norm(std::move(all_reduce)); }

 private:
  std::unique_ptr<Network> network_;
  Device& device_;
  PlantedDelay delay_;
  DelayedCalls& calls_;
};

class DelayedCollectives : public Collectives {
 public:
  DelayedCollectives(std::unique_ptr<Collectives> collectives, const std::vector<Device*>& devices, const PlantedDelay& delay, DelayedCalls& calls)
      : collectives_(std::move(collectives)), devices_(devices), delay_(delay), calls_(calls) {}
  double all_reduce(int rank, void* data, std::size_t count, Type type) override {
    if (rank == 0) ++calls_.exchanges;
    const double waited = collectives_->all_reduce(rank, data, count, type);
    Device& device = *devices_[static_cast<std::size_t>(rank)];
    if (delay_.applies(Delayed::exchange, device.index())) delay_device(device, delay_.seconds, true);
    return waited;
  }
  double reduce(int rank, void* data, std::size_t count, Type type, int root) override { return collectives_->reduce(rank, data, count, type, root); }
  double broadcast(int rank, void* data, std::size_t bytes, int root) override { return collectives_->broadcast(rank, data, bytes, root); }
  double gather(int rank, const void* mine, void* all, const Counts& bytes, int root) override {
    return collectives_->gather(rank, mine, all, bytes, root);
  }
  double scatter(int rank, const void* all, void* mine, const Counts& bytes, int root) override {
    return collectives_->scatter(rank, all, mine, bytes, root);
  }
  double all_gather(int rank, const void* mine, void* all, const Counts& bytes) override { return collectives_->all_gather(rank, mine, all, bytes); }
  double reduce_scatter(int rank, const void* all, void* mine, const Counts& counts, Type type) override {
    return collectives_->reduce_scatter(rank, all, mine, counts, type);
  }
  double all_to_all(int rank, const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) override {
    return collectives_->all_to_all(rank, out, out_bytes, in, in_bytes);
  }
  void get(int rank, int peer, const float* from, Vec into) override { collectives_->get(rank, peer, from, into); }
  void put(int rank, int peer, float* to, ConstVec from) override { collectives_->put(rank, peer, to, from); }
  void add(int rank, int peer, float* to, ConstVec from) override { collectives_->add(rank, peer, to, from); }
  void abort() override { collectives_->abort(); }
  bool recordable() const override { return collectives_->recordable(); }

 private:
  std::unique_ptr<Collectives> collectives_;
  std::vector<Device*> devices_;
  PlantedDelay delay_;
  DelayedCalls& calls_;
};

class DelayedPlatform : public Platform {
 public:
  DelayedPlatform(Platform& platform, const PlantedDelay& delay, bool may_capture) : platform_(platform), delay_(delay), may_capture_(may_capture) {}
  DeviceKind kind() const override { return platform_.kind(); }
  std::vector<DeviceInfo> devices() const override { return platform_.devices(); }
  std::vector<std::pair<std::string, std::string>> facts() const override { return platform_.facts(); }
  bool reaches(int from, int to) const override { return platform_.reaches(from, to); }
  std::unique_ptr<Device> open(int index) override { return platform_.open(index); }
  std::uint64_t peak_memory(int index) const override { return platform_.peak_memory(index); }
  void reset_peak_memory() override { platform_.reset_peak_memory(); }
  std::unique_ptr<Network> build(Device& device, const NetworkSpec& spec, const Numerics& numerics) override {
    return std::make_unique<DelayedNetwork>(platform_.build(device, spec, numerics), device, delay_, calls_);
  }
  std::unique_ptr<Optimizer> optimizer(Device& device, const OptimizerConfig& config, const std::vector<Part>& parts) override {
    return platform_.optimizer(device, config, parts);
  }
  std::unique_ptr<Feed> upload(Device& device, const SampleSpec& spec, const Split& split, const Preparation& preparation, bool keep_on_host) override {
    return platform_.upload(device, spec, split, preparation, keep_on_host);
  }
  std::unique_ptr<GraphRecorder> recorder(Device& device, std::size_t steps) override {
    return may_capture_ ? platform_.recorder(device, steps) : nullptr;
  }
  std::unique_ptr<DeviceTimeline> timeline(Device& device) override { return platform_.timeline(device); }
  std::unique_ptr<Collectives> connect(const std::vector<Device*>& devices) override {
    return std::make_unique<DelayedCollectives>(platform_.connect(devices), devices, delay_, calls_);
  }
  // How often a step was delayed.
  double delays_a_step() const { return delay_.part == Delayed::exchange ? static_cast<double>(calls_.exchanges) / calls_.passes : 1; }

 private:
  Platform& platform_;
  PlantedDelay delay_;
  bool may_capture_;
  DelayedCalls calls_;
};

}  // namespace mgcompare
