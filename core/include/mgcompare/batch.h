#pragma once

// What one call of Strategy::step learns from: this rank's share of a global batch. A Batch holds positions in the epoch's
// order of samples; the samples themselves stay with the Replica. It is a value: copy it, keep it, use it on any thread.

#include <cstddef>
#include <vector>

#include "mgcompare/types.h"

namespace mgcompare {

using Shape = std::vector<std::size_t>;  // without the batch axis: an image is {channels, height, width}

class Batch {
 public:
  struct Position {
    std::size_t epoch = 0;         // from 0
    std::size_t step = 0;          // within the epoch, from 0; at free pace the number of the draw
    std::size_t begin = 0;         // the global batch's first position in the epoch's order
    std::size_t global_size = 0;   // samples of all ranks together; the last batch of an epoch may be short
    std::size_t rank = 0, ranks = 1;
    double learning_rate = 0;      // the schedule's value at the first sample of the global batch
  };

  Batch(const Position& at, const Shape& sample_shape) : at_(at), shape_(&sample_shape) {}

  std::size_t epoch() const { return at_.epoch; }
  std::size_t step() const { return at_.step; }
  // Samples of this rank's share. It can be 0.
  std::size_t size() const { return share(at_.global_size, at_.rank, at_.ranks).size(); }
  std::size_t global_size() const { return at_.global_size; }
  // Samples of another rank's share.
  std::size_t size_of(std::size_t rank) const { return share(at_.global_size, rank, at_.ranks).size(); }
  // For host code. In a step that is captured (see Traits::repeats_every) this value does not follow the schedule.
  double learning_rate() const { return at_.learning_rate; }
  const Shape& sample_shape() const { return *shape_; }

  // First position of this share in the epoch's order of samples.
  std::size_t begin() const { return at_.begin + share(at_.global_size, at_.rank, at_.ranks).begin; }
  // The global batch as a single share.
  Batch whole() const { return Batch({at_.epoch, at_.step, at_.begin, at_.global_size, 0, 1, at_.learning_rate}, *shape_); }
  // The share of `rank` if the same global batch were divided among `ranks`.
  Batch part(std::size_t rank, std::size_t ranks) const {
    return Batch({at_.epoch, at_.step, at_.begin, at_.global_size, rank, ranks, at_.learning_rate}, *shape_);
  }

 private:
  Position at_;
  const Shape* shape_;
};

}  // namespace mgcompare
