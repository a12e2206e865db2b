#pragma once

#include "mgcompare/device.h"

namespace mgcompare {

// Prints a line for each operation on vectors of `elements` elements: its time, and that of a copy of as many bytes.
void time_arithmetic(Device& device, std::size_t elements);

}  // namespace mgcompare
