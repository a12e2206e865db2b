#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/spec.h"

namespace mgcompare {

// Of two elements; infinite if a difference is not finite or the lengths differ.
double largest_difference(const std::vector<float>& a, const std::vector<float>& b);
// Over the ranks that are expected, which may be fewer than there are.
double largest_difference(const std::vector<std::vector<float>>& expected, const std::vector<std::vector<float>>& weights);

// The length of a - b over that of a; 0 if a is 0.
double relative_gap(const std::vector<double>& a, const std::vector<double>& b);

// How far the statistics of a layer of batch normalisation are from those that are expected, relative to their size.
struct StatisticsGap {
  std::string layer;                // empty: none has any
  double gap = 0;
};
// The largest of all layers. Both vectors are the buffers of a network.
StatisticsGap statistics_gap(const NetworkSpec& spec, const std::vector<float>& expected, const std::vector<float>& buffers);

// How far the weights of one tensor may differ.
struct TensorLimit {
  std::string name;                 // "conv1 weights"
  Range range;                      // in the weights of the network
  double limit = 0;
};

// Of all tensors: the larger one of `least` and of `factor` times the largest difference of a and b in the tensor.
std::vector<TensorLimit> limits_of(const NetworkSpec& spec, const std::vector<float>& a, const std::vector<float>& b, double factor,
                                   double least);

// Where weights differ most in proportion to their limit.
struct Departure {
  std::string tensor;
  double difference = 0, limit = 0;
};
// Over the ranks that are expected. All vectors must have the length of the network's weights.
Departure largest_departure(const std::vector<std::vector<float>>& expected, const std::vector<std::vector<float>>& weights,
                            const std::vector<TensorLimit>& limits);

// These weights with other last bits, as rounding leaves them after a step.
std::vector<float> nudged_weights(std::vector<float> weights, std::uint64_t seed);

// The first tensor of which all elements are as they were at the beginning, although the reference has changed it by at least a tenth of
// what it changed the average element by (root mean square); empty if there is none. A strategy that sends the largest changes only may
// not have come to those of a tensor that hardly changes.
std::string untrained_tensor(const NetworkSpec& spec, const std::vector<float>& initial, const std::vector<float>& reference,
                             const std::vector<float>& weights);

// "the same bits after 40 steps", "differs by 1.2e-07 after 40 steps, limit 1e-05"; limit 0: not mentioned.
std::string difference_text(double difference, double limit, std::size_t steps);

}  // namespace mgcompare
