#pragma once

namespace mgcompare {

// Whether a debugger that is no descendant of this process holds one of its descendants (TracerPid in /proc/PID/status). Such a process may stand
// still for as long as its user wants.
bool is_debugged();

}  // namespace mgcompare
