#pragma once

// Processes that this process started: its children, their children, and those of them that lost their parent.

#include <sys/types.h>

#include <vector>

namespace mgcompare {

// From now on the parent of this process counts as the one that adopts and reaps orphaned descendants, and has no other
// children of its own. Without this call orphans are not found. Call before there are other threads.
void set_guardian_to_parent();

// Those that exist, also as zombies. Those that start or end meanwhile may be missing.
std::vector<pid_t> descendants();

// Processor time of all descendants in seconds, ended ones included. Of existing ones, and of orphans that have ended, in
// units of 10 ms.
double descendants_seconds();

}  // namespace mgcompare
