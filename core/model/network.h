#pragma once

// The network that a rank trains: layers over one weight arena and one gradient arena, in device memory. Abstract here;
// built by a platform. Calls are stream-ordered; only take_tally waits.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "config/kinds.h"
#include "mgcompare/replica.h"
#include "mgcompare/types.h"

namespace mgcompare {

struct Numerics {
  Precision precision = Precision::fp32;
  bool deterministic = false;
  bool average_pooling = false;     // every max_pool becomes an average_pool: `verify` compares without near-ties
  bool dropout = true;              // false: dropout layers pass their input (golden gradients)
};

// The samples of one split on one device and the order in which positions are read.
class Feed {
 public:
  virtual ~Feed() = default;
  virtual std::size_t samples() const = 0;
  virtual const Shape& sample_shape() const = 0;
  // Position p of the epoch is sample order[p]. Device-side copy is made by the call.
  virtual void set_order(Span<const std::uint32_t> order) = 0;
  // The host's time in making batches so far; 0 where the device makes them.
  virtual double seconds() const { return 0; }
};

// What a pass belongs to: keys the dropout masks, which depend on (seed, epoch, global sample index, layer) only.
struct Pass {
  bool training = true;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
};

struct Tally {
  double loss = 0;                  // sum over samples
  std::uint64_t correct = 0;
  std::uint64_t samples = 0;
};

class Network {
 public:
  virtual ~Network() = default;
  virtual Vec weights() = 0;
  virtual Vec gradients() = 0;
  virtual Vec buffers() = 0;
  virtual std::size_t classes() const = 0;
  // Makes room for batches of up to `samples`; called before the first pass, and whenever more are needed.
  virtual void reserve(std::size_t samples) = 0;

  // Reads positions [first, first + count) of the feed's order and runs the layers. Returns logits (count, classes),
  // valid until the next forward. count may be 0. With `weights` not empty those are used in place of weights().
  virtual Vec forward(Feed& feed, std::size_t first, std::size_t count, const Pass& pass, ConstVec weights = {}) = 0;
  // Softmax cross-entropy: dlogits = (softmax - one hot) * scale (skipped when dlogits is empty); adds to the tally.
  // May be asked for positions other than the last forward's.
  virtual void loss(Feed& feed, std::size_t first, std::size_t count, ConstVec logits, Vec dlogits, float scale) = 0;
  // Overwrites gradients(); calls ready(slice) from the end of the vector to its start as they become final. `share`: this
  // rank's part of the batch where dlogits are scaled by its own share, 1 where by the batch: what synchronised layers
  // exchange is brought to one scale.
  virtual void backward(ConstVec dlogits, const Ready& ready, float share = 1) = 0;
  // Sums since the last call, after waiting for the device.
  virtual Tally take_tally() = 0;
  // Batch normalisation over all ranks: adds a vector over the ranks. Unset: each rank normalises by itself.
  virtual void synchronize_batch_norm(std::function<void(Vec)> all_reduce) = 0;
};

}  // namespace mgcompare
