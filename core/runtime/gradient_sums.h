#pragma once

// What an audit keeps of gradients, for each element: their sum, the sum of their squares, and how many they were. Equal sums of two
// sequences leave changes unseen that a later gradient takes back; where each element has as many gradients in both, the squares show them.

#include <cstdint>
#include <vector>

#include "mgcompare/device.h"
#include "mgcompare/types.h"

namespace mgcompare {

struct GradientSums {
  GradientSums() = default;
  explicit GradientSums(std::size_t parameters) : sum(parameters), squares(parameters), counts(parameters) {}
  bool empty() const { return sum.empty(); }
  // The elements of one gradient in this range. `gradients` has all parameters, in memory of the host or of the device, for which this waits.
  void add(Device& device, ConstVec gradients, Range range, bool on_host);
  // Of as many parameters.
  GradientSums& operator+=(const GradientSums& other);

  std::vector<double> sum, squares;
  std::vector<std::uint64_t> counts;
};

}  // namespace mgcompare
