#pragma once

// Wraps a replica during a verification: shows what each pass makes of the buffers.

#include <functional>
#include <vector>

#include "mgcompare/replica.h"

namespace mgcompare {

// Waits for the device. Not counted as a copy of the strategy.
std::vector<float> on_host(Device& device, ConstVec vector);

class ObservedReplica : public Replica {
 public:
  // Called after each forward pass with the buffers before and after it.
  using Passed = std::function<void(const std::vector<float>& before, const std::vector<float>& after)>;
  ObservedReplica(Replica& inner, Passed passed) : inner_(inner), passed_(std::move(passed)) {}

  Vec weights() override { return inner_.weights(); }
  Vec gradients() override { return inner_.gradients(); }
  const std::vector<Part>& parts() const override { return inner_.parts(); }
  Vec buffers() override { return inner_.buffers(); }
  using Replica::backward;
  void backward(const Batch& batch, const Ready& ready, Scale scale) override;
  Vec forward(const Batch& batch) override {
    Vec logits;
    watch([&] { logits = inner_.forward(batch); });
    return logits;
  }
  Vec forward(const Batch& batch, ConstVec inputs) override {
    Vec logits;
    watch([&] { logits = inner_.forward(batch, inputs); });
    return logits;
  }
  void loss(const Batch& batch, ConstVec logits, Vec dlogits, Scale scale) override { inner_.loss(batch, logits, dlogits, scale); }
  void backward_from(const Batch& batch, ConstVec dlogits, const Ready& ready) override { inner_.backward_from(batch, dlogits, ready); }
  std::size_t classes() const override { return inner_.classes(); }
  std::size_t outputs() const override { return inner_.outputs(); }
  std::size_t inputs() const override { return inner_.inputs(); }
  void read(const Batch& batch, Vec to) override { inner_.read(batch, to); }
  using Replica::update;
  void update(Range range) override { inner_.update(range); }
  Optimizer& optimizer() override { return inner_.optimizer(); }
  std::unique_ptr<Optimizer> host_optimizer(bool plain) override { return inner_.host_optimizer(plain); }
  std::unique_ptr<Optimizer> device_optimizer(bool plain) override { return inner_.device_optimizer(plain); }
  Device& device() override { return inner_.device(); }
  void metric(std::string_view name, double value) override { inner_.metric(name, value); }
  void histogram(std::string_view name, std::uint64_t value) override { inner_.histogram(name, value); }
  void record(std::string_view name, const std::vector<double>& figures) override { inner_.record(name, figures); }
  Random random(std::uint64_t stream) const override { return inner_.random(stream); }

 private:
  template <class Pass> void watch(Pass pass) {
    const std::vector<float> before = on_host(device(), buffers());
    pass();
    passed_(before, on_host(device(), buffers()));
  }

  Replica& inner_;
  Passed passed_;
};

}  // namespace mgcompare
