#pragma once

// What a strategy held back of its gradients, to be sent later (error feedback), as a figure of the results.

#include <cmath>
#include <vector>

#include "mgcompare/replica.h"

namespace mgcompare {

// The length of what is held back becomes the metric "residual norm". Waits for the device: call it from settle().
inline void report_residual(Replica& replica, ConstVec residual) {
  std::vector<float> held(residual.size());
  copy_to_host(replica.device(), Span<float>(held.data(), held.size()), residual);
  replica.device().synchronize();
  double squares = 0;
  for (const float value : held) squares += static_cast<double>(value) * static_cast<double>(value);
  replica.metric("residual norm", std::sqrt(squares));
}

}  // namespace mgcompare
