#pragma once

// One rank's copy of the network on one device, with its data and its optimiser.
//
// Thread: the rank's own, for every call. Nothing here is collective.
// Order: stream-ordered (see device.h) unless a method says otherwise. CPU devices compute before a call returns.
// Shapes: all vectors are float32. Logits and their gradients are row-major (samples of the share, outputs).
// Errors: as in device.h.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mgcompare/batch.h"
#include "mgcompare/device.h"
#include "mgcompare/random.h"
#include "mgcompare/types.h"

namespace mgcompare {

// One tensor of the flat vector; parts are in the order of the forward pass, ascending and without gaps. The first axis is the outputs: (units,
// inputs), (channels out, channels in, height, width); an embedding is (tokens, units). Biases and the scales of
// normalisations have one axis.
struct Part {
  std::string name;   // "conv1.weight"
  std::string layer;  // "conv1"
  Shape shape;
  Range range;        // in weights() and gradients()
  bool decays;        // whether weight decay applies: to weights always, to biases if the experiment says so
  std::optional<double> weight_decay = std::nullopt;  // the layer's own; empty: the experiment's
};

// How the sum of a share's sample gradients is scaled.
enum class Scale {
  global_batch,  // 1 / global batch: the sum over ranks is the mean gradient of the batch
  own_share,     // 1 / own share: the mean over this share, for a rank that updates alone
};

// Called on the rank's thread, within backward(), with slices of gradients() whose work is queued: from the end of the
// vector to its start, each once and without gaps.
using Ready = std::function<void(Vec slice)>;

// An update rule and its state for one vector, which is in device memory or in host memory. Stream-ordered for device
// memory; for host memory it computes on the calling thread before it returns. See Batch about learning rates.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // The state variables (sgd: its momentum, if any; Adam: two moments), where the vector is, each as long as the weights,
  // zero at first. Write access is allowed.
  virtual std::vector<Vec> state() = 0;
  // Sets the state and Adam's step number to zero. The count of updates in the results is kept.
  virtual void reset() = 0;
  // Begins an update: increments Adam's step number and the count of updates. One thread at a time.
  virtual void advance() = 0;
  // Applies the gradient to elements `range` of `weights`, at the learning rate of the step times `rate_scale`. Both
  // vectors are whole. Several threads may update disjoint ranges of a host vector at the same time.
  virtual void apply(Vec weights, ConstVec gradients, Range range, const Batch& batch, double rate_scale = 1) = 0;
  // advance(), then apply() to all elements.
  void update(Vec weights, ConstVec gradients, const Batch& batch, double rate_scale = 1) {
    advance();
    apply(weights, gradients, {0, weights.size()}, batch, rate_scale);
  }
};

class Replica {
 public:
  virtual ~Replica() = default;

  // The parameters and their gradient: one flat vector each, of equal length, in device memory. The addresses stay.
  virtual Vec weights() = 0;
  virtual Vec gradients() = 0;
  virtual const std::vector<Part>& parts() const = 0;
  // Running statistics of batch normalisation, flat, in device memory; often empty. Evaluation uses their mean over ranks.
  // Passes change them. A step may mix those of the ranks (average or broadcast them), but not write anything else.
  virtual Vec buffers() = 0;

  // Forward pass, loss and backward pass over this rank's share. Overwrites gradients(), with zeros for an empty share.
  // Collectives and updates called in `ready` run beside the rest of the pass; work queued after backward() returns runs
  // after them. Other work that `ready` queues (for_each, segmented_reduce, kernels on Device::stream()) runs within the pass:
  // it sees the slice, and a collective called after it sees its result, but it does not see the result of a collective.
  virtual void backward(const Batch& batch, const Ready& ready, Scale scale = Scale::global_batch) = 0;
  void backward(const Batch& batch, Scale scale = Scale::global_batch) { backward(batch, Ready(), scale); }

  // The same in three calls. forward() returns the logits, valid until the next pass. loss() computes the gradient of any
  // batch's logits, such as gathered ones of batch.whole(). backward_from() follows the forward() of its batch; it throws
  // Error where `dlogits` has another length.
  virtual Vec forward(const Batch& batch) = 0;
  // The same on inputs that read() prepared, on whichever rank, in place of the samples that this rank has: (own share, inputs()).
  // They must stay until the next pass. Throws Error where `inputs` has another length.
  virtual Vec forward(const Batch& batch, ConstVec inputs) = 0;
  virtual void loss(const Batch& batch, ConstVec logits, Vec dlogits, Scale scale = Scale::global_batch) = 0;
  virtual void backward_from(const Batch& batch, ConstVec dlogits, const Ready& ready = {}) = 0;
  virtual std::size_t classes() const = 0;
  // Logits of one sample: its classes, at each predicted position of a sequence.
  virtual std::size_t outputs() const = 0;
  // Values of one sample as the network reads them.
  virtual std::size_t inputs() const = 0;
  // Writes the samples of any batch, such as batch.whole(), as its pass in training would read them (scaled, normalised, shifted and
  // mirrored), to device memory: row-major (samples, inputs()). Throws Error where `to` has another length.
  virtual void read(const Batch& batch, Vec to) = 0;

  // Applies gradients() to elements `range` of weights() with optimizer(), at the step's learning rate. All ranges of one
  // step count as one update. In `ready`, update only what is ready.
  virtual void update(Range range) = 0;
  void update() { update({0, weights().size()}); }
  virtual Optimizer& optimizer() = 0;
  // Makes another optimiser of the experiment's kind, for a vector as long as weights() in host memory, or in this
  // device's. Call in Strategy::start; the program keeps its state in checkpoints. If there are such optimisers, their
  // updates are the trial's count of updates. `plain`: without sgd's momentum. Its state is as long as weights(), also
  // if the strategy updates a part only. Throws OutOfMemory.
  virtual std::unique_ptr<Optimizer> host_optimizer(bool plain = false) = 0;
  virtual std::unique_ptr<Optimizer> device_optimizer(bool plain = false) = 0;

  virtual Device& device() = 0;

  // Figures for the results, recorded at once on the host. metric(): the results have mean, extremes and last value, per
  // rank. histogram(): also how often each value occurred; values from 255 on count as one. record(): a row for the
  // trial's log, dropped unless the experiment sets measure.record. At most 1,000 names of up to 100 bytes, else Error.
  virtual void metric(std::string_view name, double value) = 0;
  virtual void histogram(std::string_view name, std::uint64_t value) = 0;
  virtual void record(std::string_view name, const std::vector<double>& figures) = 0;
  // Random numbers that depend on the trial's seed, this rank and `stream` (below 2^40).
  virtual Random random(std::uint64_t stream) const = 0;
};

}  // namespace mgcompare
