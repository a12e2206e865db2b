#pragma once

// The values of stored samples before they are prepared for a network, as far as they are known without loading the set.

namespace mgcompare {

// Of one channel.
struct StoredValues {
  double smallest = 0, largest = 0;
  double mean = 0, mean_square = 0;
};

}  // namespace mgcompare
