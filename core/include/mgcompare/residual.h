#pragma once

#include "mgcompare/replica.h"

namespace mgcompare {

// For error feedback: writes the Euclidean norm of `residual`, what a rank has not sent of its gradients, as the metric
// "residual norm". On the rank's thread; waits for the device: call it in Strategy::settle.
inline void report_residual(Replica& replica, ConstVec residual);

}  // namespace mgcompare

#include "mgcompare/detail/residual.h"
