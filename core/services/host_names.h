#pragma once

// Whether the names of hosts can be those of a run from this machine.

#include <string>
#include <vector>

namespace mgcompare {

// Throws Error unless the first name is this machine's and no other one is.
void check_host_names(const std::vector<std::string>& names);

}  // namespace mgcompare
