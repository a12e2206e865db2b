#pragma once

// The hosts of a run, and who starts workers on them.

#include "config/config.h"

namespace mgcompare {

// With the launcher that is to be used in place of `automatic` and, in a Slurm allocation, its hosts where none are named. Throws Error.
HostsConfig resolved(HostsConfig hosts);
// The same for the hosts of a config; unchanged if none of its trials needs several.
HostsConfig hosts_of(const Config& config);

}  // namespace mgcompare
