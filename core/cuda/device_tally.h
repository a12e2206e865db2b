#pragma once

// Training statistics in device memory.

namespace mgcompare::cuda {

// Sums over the predictions since the last reset.
struct DeviceTally {
  double loss;
  unsigned long long correct;
  unsigned long long predictions;
};

}  // namespace mgcompare::cuda
