#pragma once

// Where threads run.

namespace mgcompare {

// Lets the calling thread run on all cores of the process. A thread begins on the core to which the thread that starts it is pinned.
void run_on_all_cores();

}  // namespace mgcompare
