#pragma once

// The network that a rank trains: layers over one vector of weights and one of gradients, in device memory. Platforms
// implement it. Calls are stream-ordered; only take_tally() waits for the device.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/kinds.h"
#include "mgcompare/replica.h"
#include "mgcompare/types.h"

namespace mgcompare {

struct Numerics {
  Precision precision = Precision::fp32;
  bool deterministic = false;
  bool average_pooling = false;     // replace max_pool by average_pool: `verify` then has no near-ties
  bool dropout = true;              // false: dropout layers return their input
  KernelChoice kernels = KernelChoice::fused;
};

// Memory of a network beside its weights, gradients and buffers.
struct Stored {
  std::string what;                 // "activations and their gradients"
  std::string type;                 // "bf16"
  std::uint64_t bytes = 0;
};

// Identifies a pass. Dropout masks depend only on seed, epoch, global sample index and layer.
struct Pass {
  bool training = true;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  ConstVec inputs = {};             // prepared samples, in place of those of the feed; empty: those of the feed
};

// The samples of one split on one device, and the order in which they are read.
class Feed {
 public:
  virtual ~Feed() = default;
  virtual std::size_t samples() const = 0;
  virtual const Shape& sample_shape() const = 0;
  // Position p of the epoch is sample order[p]. Copies `order` to the device.
  virtual void set_order(Span<const std::uint32_t> order) = 0;
  // Writes the samples at these positions, prepared for the pass, to device memory: row-major (count, values of a sample).
  virtual void read(std::size_t first, std::size_t count, const Pass& pass, Vec to) = 0;
  // Total seconds that the host spent on assembling batches; 0 if the device does it.
  virtual double seconds() const { return 0; }
};

struct Tally {
  double loss = 0;                  // sum over predictions
  std::uint64_t correct = 0;
  std::uint64_t predictions = 0;    // one for each sample, or for each position of a sequence
};

class Network {
 public:
  virtual ~Network() = default;
  virtual Vec weights() = 0;
  virtual Vec gradients() = 0;
  virtual Vec buffers() = 0;
  virtual std::size_t classes() const = 0;
  // Logits of one sample: its classes, at each predicted position of a sequence.
  virtual std::size_t outputs() const = 0;
  // Allocates memory for batches of up to `samples`. Call it before the first pass, and before larger batches.
  virtual void reserve(std::size_t samples) = 0;

  // Reads positions [first, first + count) of the feed's order and runs the layers. Returns logits (count, outputs),
  // valid until the next forward. count may be 0. If `weights` is not empty, it is used instead of weights().
  virtual Vec forward(Feed& feed, std::size_t first, std::size_t count, const Pass& pass, ConstVec weights = {}) = 0;
  // Softmax cross-entropy: dlogits = (softmax - one hot) * scale (skipped when dlogits is empty); adds to the tally.
  // The positions may differ from those of the last forward.
  virtual void loss(Feed& feed, std::size_t first, std::size_t count, ConstVec logits, Vec dlogits, float scale) = 0;
  // Overwrites gradients(); calls ready(slice) from the end of the vector to its start as slices become final. `share`:
  // this rank's fraction of the batch if dlogits are scaled by its own samples, 1 if by the global batch; synchronised
  // batch normalisation needs one scale on all ranks.
  virtual void backward(ConstVec dlogits, const Ready& ready, float share = 1) = 0;
  // What the last reserve() allocated.
  virtual std::vector<Stored> stored() const = 0;
  // With KernelChoice::library, what the platform's libraries do not compute: types of layers, and parts of a step. Otherwise empty.
  virtual std::vector<std::string> computed_without_library() const { return {}; }
  // Sums since the last call, after waiting for the device.
  virtual Tally take_tally() = 0;
  // Batch normalisation over all ranks; `all_reduce` sums a vector over them. Unset: each rank normalises its own samples.
  virtual void synchronize_batch_norm(std::function<void(Vec)> all_reduce) = 0;
};

}  // namespace mgcompare
