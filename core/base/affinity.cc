#include "base/affinity.h"

#include <sched.h>
#include <unistd.h>

namespace mgcompare {

// The first thread of a process is no rank, so it is not pinned.
void run_on_all_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(getpid(), sizeof(cores), &cores) == 0) sched_setaffinity(0, sizeof(cores), &cores);
}

}  // namespace mgcompare
