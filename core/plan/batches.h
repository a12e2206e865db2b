#pragma once

// Batches of a config that hold its whole data set: what they train, and which of them are one row.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "config/config.h"

namespace mgcompare {

class Batches {
 public:
  // `samples`: training samples of an epoch. `warn` gets a sentence where rows differ from what the config says. `config` and
  // `warn` must outlive the object.
  Batches(const Config& config, std::size_t samples, const std::function<void(std::string)>& warn) : config_(config), samples_(samples), warn_(warn) {}

  // Those of which rows are made: with `mode: weak` as the config lists them. Otherwise a batch that is larger than the data set trains as one of
  // the set's size does, and is one row with it.
  std::vector<std::size_t> of_rows() const;
  // Whether the row of a batch on so many devices would repeat the training of an earlier batch, because with `mode: weak` both hold the whole data
  // set. With a batch rule the learning rates differ.
  bool repeats(std::size_t batch, std::size_t devices) const;

 private:
  bool is_weak() const { return config_.scaling.mode == ScalingMode::weak; }

  const Config& config_;
  std::size_t samples_;
  const std::function<void(std::string)>& warn_;
};

}  // namespace mgcompare
