#pragma once

// The commands `devices` and `doctor`. Each prints its result on stdout and returns an exit code.

#include "cli/command_line.h"

namespace mgcompare {

int list_devices(const Command& command);
int run_doctor(const Command& command);  // checks and measures the devices and the links between them

}  // namespace mgcompare
