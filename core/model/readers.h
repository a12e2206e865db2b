#pragma once

// Which layers read which, for passes that compute several layers together.

#include <cstddef>
#include <vector>

#include "model/network.h"
#include "model/spec.h"

namespace mgcompare {

class Readers {
 public:
  // `spec` must outlive the object.
  explicit Readers(const NetworkSpec& spec);
  // How many inputs of layers the output of layer `index` is.
  std::size_t count(std::size_t index) const { return counts_[index + 1]; }
  // Whether layer `index` exists, and the output of layer `producer` is its only input and read by no other.
  bool is_only_reader(std::size_t index, std::size_t producer) const;

 private:
  const NetworkSpec& spec_;
  std::vector<std::size_t> counts_;  // [0] of the sample, [i + 1] of layer i
};

}  // namespace mgcompare
