#pragma once

// The commands about the machine. Each prints its answer on stdout and returns an exit code.

#include "cli/command_line.h"

namespace mgcompare {

int list_devices(const Command& command);
int run_doctor(const Command& command);  // `doctor`: the devices, and what their links do to data

}  // namespace mgcompare
