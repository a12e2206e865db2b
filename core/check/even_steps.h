#pragma once

// Lets free-running ranks make about as many steps as each other, also on fewer processors than ranks, where one could take all samples.

#include <atomic>
#include <cstddef>
#include <vector>

namespace mgcompare {

class EvenSteps {
 public:
  explicit EvenSteps(std::size_t ranks) : steps_(ranks) {}
  // Before a step of the rank, on its thread: waits for ranks that are behind it. Not for long: they may rest, or wait for this one.
  void step(std::size_t rank);

 private:
  std::vector<std::atomic<std::size_t>> steps_;
};

}  // namespace mgcompare
