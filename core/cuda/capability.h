#pragma once

// What generations of GPUs can do, by their compute capability: 75 is 7.5.

#include <string>
#include <vector>

namespace mgcompare::cuda {

// The least for which this build has code.
int least_capability();
// Whether it has code for the current device. Loads a kernel, so only where work is to follow.
bool has_code();
// Whether the code for the current device is of a generation, 9.0 or later, whose kernels can begin before the one ahead of
// them has ended, and wait (launch.h). A newer GPU that runs older code has kernels that do not wait.
bool kernels_await();

// In which numerics.precision a GPU multiplies matrices. Others would be something else under that name, or errors.
std::vector<std::string> precisions_of(int capability);

// "7.5" of 75.
std::string capability_text(int capability);
// "has compute capability 7.5, this program needs 9.0: ..."; follows the name of the device.
std::string no_code(int capability);

}  // namespace mgcompare::cuda
