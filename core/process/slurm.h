#pragma once

// The Slurm allocation in which this process runs, if any: sbatch and salloc name it in the environment.

#include <string>
#include <vector>

#include "config/config.h"

namespace mgcompare {

bool is_in_allocation();
// Its hosts, in Slurm's order. Throws Error if Slurm cannot tell.
std::vector<std::string> allocated_hosts();

// The hosts on which the trials of a config run, with the launcher decided: those that it names, or those of the allocation if its
// trials need several. Throws Error.
HostsConfig hosts_of(const Config& config);
// The same for all of these hosts, whatever trials there are: with the launcher and, in an allocation, the names.
HostsConfig decided(HostsConfig hosts);

}  // namespace mgcompare
