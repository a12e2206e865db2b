#pragma once

// Features of GPU generations, by compute capability; 75 means 7.5.

#include <string>
#include <vector>

namespace mgcompare::cuda {

// The lowest compute capability for which this build has code.
int min_capability();
// Whether this build has code for the current device. Creates a CUDA context: call it only if the device will be used.
bool has_code();
// The capability that the code for the current device was compiled for: a newer GPU may run older code.
int compiled_capability();
// Whether that is 9.0 or later, with programmatic dependent launch (launch.h): older code does not wait for the previous kernel.
bool supports_dependent_launch();
// Whether that is 8.0 or later, with the products of tensor_core.h: older code computes nothing there.
bool supports_tensor_floats();

// The values of numerics.precision that a GPU supports in hardware.
std::vector<std::string> precisions_of(int capability);

// 75 as "7.5".
std::string capability_text(int capability);
// The rest of a message that begins with the name of the device: "has compute capability 6.1, for which ...".
std::string no_code(int capability);

}  // namespace mgcompare::cuda
