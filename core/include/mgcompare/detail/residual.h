#pragma once

// Included by residual.h.

#include <cmath>
#include <vector>

namespace mgcompare {

inline void report_residual(Replica& replica, ConstVec residual) {
  std::vector<float> held(residual.size());
  copy_to_host(replica.device(), Span<float>(held.data(), held.size()), residual);
  replica.device().synchronize();
  double squares = 0;
  for (const float value : held) squares += static_cast<double>(value) * static_cast<double>(value);
  replica.metric("residual norm", std::sqrt(squares));
}

}  // namespace mgcompare
