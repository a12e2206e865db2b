#pragma once

#include "mgcompare/device.h"

namespace mgcompare {

// Prints a line for each operation on vectors of `elements`: its time beside that of a copy which moves as many bytes.
void time_arithmetic(Device& device, std::size_t elements);

}  // namespace mgcompare
