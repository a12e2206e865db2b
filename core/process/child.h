#pragma once

// What every start of another program needs, whatever it is told and given.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/descriptor.h"

namespace mgcompare {

// How a process ended.
struct Ending {
  int signal = 0;                   // that ended it; 0: it exited
  int code = 0;                     // exit code, if it exited
  std::string text() const;         // "SIGSEGV", "exit code 3"
};

// From the status that waitpid() gives.
Ending ending_of(int status);

// The texts and a null pointer, as exec wants them; `texts` must outlive the result.
std::vector<char*> exec_list(std::vector<std::string>& texts);

// A descriptor that becomes readable once this child has ended. Without one nobody would notice the end: if the kernel gives none, the
// child is killed and reaped, and Error says why.
Descriptor watch_child(pid_t child, const std::string& name);

}  // namespace mgcompare
