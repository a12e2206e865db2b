#pragma once

// Samples that show in the weights whether a model depends on them, whatever the order in which ranks ran. For trainings in real time, which cannot
// be repeated with another sample.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/config.h"
#include "data/dataset.h"

namespace mgcompare {

// A data set and a network for it. Each sample has one feature that is not 0, its mark. The weights of the first layer begin at 0. Without a decay of
// weights, those of a mark have a gradient of exactly 0 in all samples that do not have it, so they are 0 in the end if nothing that was learned from
// those that do is in the model. One mark for each of these parts of what a rank trains: the even and the odd steps of each of the first epochs, and
// all later epochs.
class MarkedSamples {
 public:
  // `samples`: in the training set. There are at least three for each rank.
  MarkedSamples(std::size_t ranks, std::size_t samples, std::uint64_t seed);

  const Dataset& data() const { return data_; }
  const ModelConfig& model() const { return model_; }
  const std::vector<float>& initial_weights() const { return weights_; }
  // Two for each of the first epochs.
  std::size_t judged_parts() const { return parts_ - 1; }
  // In which a rank makes this step of its own.
  std::size_t part(std::size_t epoch, std::size_t step) const;
  // The order of an epoch in which the rank has this part's sample at each position.
  std::vector<std::uint32_t> order(std::size_t rank, std::size_t part) const;
  // The sum of the squares of a mark's weights.
  double learned(const std::vector<float>& weights, std::size_t rank, std::size_t part) const;
  // The same of all marks of a rank. Rank `ranks` has marks, too, but no sample: only what is not learned, such as noise, changes their weights.
  double learned(const std::vector<float>& weights, std::size_t rank) const;
  std::size_t ranks() const { return ranks_; }

 private:
  std::size_t mark(std::size_t rank, std::size_t part) const { return rank * parts_ + part; }
  std::size_t marks() const { return (ranks_ + 1) * parts_; }

  std::size_t ranks_, parts_;
  Dataset data_;
  ModelConfig model_;
  std::vector<float> weights_;
};

}  // namespace mgcompare
