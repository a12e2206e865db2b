#pragma once

// What one call of `Strategy::step` learns from: this rank's share of a batch. The samples themselves stay with the
// replica; a Batch says which positions of the epoch's order they have.

#include <cstddef>
#include <vector>

#include "mgcompare/types.h"

namespace mgcompare {

using Shape = std::vector<std::size_t>;  // without the batch axis: an image is {channels, height, width}

class Batch {
 public:
  struct Position {
    std::size_t epoch = 0;         // counted from 0
    std::size_t step = 0;          // within the epoch, counted from 0; in free pace the number of the draw
    std::size_t begin = 0;         // first position of the global batch in the epoch's order
    std::size_t global_size = 0;   // samples of all ranks together; the last batch of an epoch may be short
    std::size_t rank = 0, ranks = 1;
    double learning_rate = 0;      // the schedule's value at the first sample of the global batch
  };

  Batch(const Position& at, const Shape& sample_shape) : at_(at), shape_(&sample_shape) {}

  std::size_t epoch() const { return at_.epoch; }
  std::size_t step() const { return at_.step; }
  std::size_t size() const { return share(at_.global_size, at_.rank, at_.ranks).size(); }
  std::size_t global_size() const { return at_.global_size; }
  std::size_t size_of(std::size_t rank) const { return share(at_.global_size, rank, at_.ranks).size(); }
  double learning_rate() const { return at_.learning_rate; }
  const Shape& sample_shape() const { return *shape_; }

  // First position of this share in the epoch's order of samples.
  std::size_t begin() const { return at_.begin + share(at_.global_size, at_.rank, at_.ranks).begin; }
  // The same batch as one share: every rank's samples, on this rank.
  Batch whole() const { return Batch({at_.epoch, at_.step, at_.begin, at_.global_size, 0, 1, at_.learning_rate}, *shape_); }
  // The share that `rank` of `ranks` would have of the same batch.
  Batch part(std::size_t rank, std::size_t ranks) const {
    return Batch({at_.epoch, at_.step, at_.begin, at_.global_size, rank, ranks, at_.learning_rate}, *shape_);
  }

 private:
  Position at_;
  const Shape* shape_;
};

}  // namespace mgcompare
