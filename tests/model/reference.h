#pragma once

// Definitions of the layers as plain loops in double precision: slow, and independent of every kernel.

#include <cstdint>
#include <vector>

#include "model/network.h"
#include "model/spec.h"

namespace mgcompare::testing {

using Numbers = std::vector<double>;

struct ReferencePass {
  bool training = true;
  bool dropout = true;
  bool average_pooling = false;
  std::uint64_t seed = 0, epoch = 0;
};

// Logits (samples, classes) for inputs (samples, features). `ids` are indices in the data set.
Numbers reference_forward(const NetworkSpec& spec, const Numbers& weights, const Numbers& buffers, const Numbers& inputs,
                          const std::vector<std::uint32_t>& ids, const ReferencePass& pass);

// Sum over the samples, or over all positions of all samples, of softmax cross-entropy.
double reference_loss(const Numbers& logits, const std::vector<std::uint32_t>& labels);

}  // namespace mgcompare::testing
