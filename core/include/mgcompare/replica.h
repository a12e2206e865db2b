#pragma once

// One rank's copy of the network on one device, and what may be done with it. Every method is called by the rank's own
// thread. Work is queued on the device in the order of the calls; nothing here waits for the device unless it says so.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mgcompare/batch.h"
#include "mgcompare/device.h"
#include "mgcompare/random.h"
#include "mgcompare/types.h"

namespace mgcompare {

// One tensor of the flat vector, in the order in which the forward pass meets it. The outputs are the first axis:
// (units, inputs), (channels out, channels in, height, width); biases and batch-norm scales have one axis.
struct Part {
  std::string name;   // "conv1.weight"
  std::string layer;  // "conv1"
  Shape shape;
  Range range;        // in `weights()` and in `gradients()`
  bool decays;        // weight decay applies (weights do, biases do only when asked)
};

// How the gradient of a share is scaled before it is used.
enum class Scale {
  global_batch,  // sum of the share's sample gradients / global batch: SUM over ranks to get the batch's mean gradient
  own_share,     // mean over the share: for a rank that updates alone
};

// Called as the gradient becomes final, in slices from the end of the vector to its start, each once and without gaps.
using Ready = std::function<void(Vec slice)>;

// An update rule with its state for one vector. It lives where its vector lives: on a device or on the host.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // One vector a state variable (momentum; Adam's two moments); each as long as the weights, zero at first.
  virtual std::vector<Vec> state() = 0;
  // Forgets the state, Adam's step number with it; the count of updates in the results goes on.
  virtual void reset() = 0;
  // Begins the next update: Adam's step number grows, and the update is counted in the results. One thread only.
  virtual void advance() = 0;
  // Applies the gradient to `weights` over `range` of the whole vector (both vectors are whole), at the batch's learning
  // rate times `rate_scale`. Disjoint ranges of a host vector may be updated by several threads at once.
  virtual void apply(Vec weights, ConstVec gradients, Range range, const Batch& batch, double rate_scale = 1) = 0;
  // advance() and apply() over everything.
  void update(Vec weights, ConstVec gradients, const Batch& batch, double rate_scale = 1) {
    advance();
    apply(weights, gradients, {0, weights.size()}, batch, rate_scale);
  }
};

class Replica {
 public:
  virtual ~Replica() = default;

  // The parameters and their gradient: ONE flat float32 vector each, in device memory, of equal length.
  virtual Vec weights() = 0;
  virtual Vec gradients() = 0;
  virtual const std::vector<Part>& parts() const = 0;
  // Running statistics (batch normalisation), flat; empty for most networks. Not trained: averaged when evaluated.
  virtual Vec buffers() = 0;

  // Forward, loss and backward over this rank's share: overwrites `gradients()`. An empty share gives zeros. Collectives
  // called inside `ready` do not hold up the rest of the pass; work queued after backward() returns runs behind them.
  virtual void backward(const Batch& batch, const Ready& ready, Scale scale = Scale::global_batch) = 0;
  void backward(const Batch& batch, Scale scale = Scale::global_batch) { backward(batch, Ready(), scale); }

  // The three parts of backward(): logits (size, classes); their loss gradient, for any batch whose logits one holds
  // (`batch.whole()` on a rank that gathered them); and the rest of the pass, which must follow the forward() of its batch.
  virtual Vec forward(const Batch& batch) = 0;
  virtual void loss(const Batch& batch, ConstVec logits, Vec dlogits, Scale scale = Scale::global_batch) = 0;
  virtual void backward_from(const Batch& batch, ConstVec dlogits, const Ready& ready = {}) = 0;
  virtual std::size_t classes() const = 0;

  // Applies `gradients()` to `weights()` with optimizer(). Pieces of one step are one update. Called inside `ready`, for
  // what became ready, it runs behind the collectives called there and beside the rest of the pass.
  virtual void update(Range range) = 0;
  void update() { update({0, weights().size()}); }
  virtual Optimizer& optimizer() = 0;
  // A further optimiser of the experiment's kind for a vector of the same length in host memory. Its updates, not the
  // replicas', are then the trial's count of updates. Plain: an sgd has no momentum then, whatever the experiment says.
  virtual std::unique_ptr<Optimizer> host_optimizer(bool plain = false) = 0;
  // The same for a vector in this device's memory: a server on a device.
  virtual std::unique_ptr<Optimizer> device_optimizer(bool plain = false) = 0;

  virtual Device& device() = 0;
  // Records a figure of this step; the results keep its mean, extremes and last value for each rank.
  virtual void metric(std::string_view name, double value) = 0;
  // The same of a small whole number, of which the results also keep how often each value came.
  virtual void histogram(std::string_view name, std::uint64_t value) = 0;
  // A line of figures for the trial's record, where one is kept (measure.record): what a step decided, in full.
  virtual void record(std::string_view name, const std::vector<double>& figures) = 0;
  // A stream of random numbers that depends on the trial's seed, this rank and `stream`.
  virtual Random random(std::uint64_t stream) const = 0;
};

}  // namespace mgcompare
