#pragma once

// The Slurm allocation in which this process runs, if any: sbatch and salloc name it in the environment.

#include <string>
#include <vector>

namespace mgcompare {

bool is_in_allocation();
// Its hosts, in Slurm's order. Throws Error if Slurm cannot tell.
std::vector<std::string> allocated_hosts();

}  // namespace mgcompare
