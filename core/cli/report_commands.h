#pragma once

// The commands that read runs and measure nothing.

#include "cli/command_line.h"

namespace mgcompare {

int write_report_again(const Command& command);
int predict_more(const Command& command);     // steps on devices that this machine does not have
int compare_two(const Command& command);      // two runs, row by row; the report is there before the exit code says anything
int export_run(const Command& command);       // log lines for other programs

}  // namespace mgcompare
