#include "process/run_hosts.h"

#include <algorithm>

#include "mgcompare/error.h"
#include "process/slurm.h"

namespace mgcompare {

HostsConfig resolved(HostsConfig hosts) {
  if (hosts.launcher == HostLauncher::slurm && !is_in_allocation())
    throw Error("'hosts.launcher' is slurm, but this is no Slurm allocation: start mgcompare with sbatch or salloc, or write `launcher: mpirun`");
  if (hosts.launcher == HostLauncher::automatic) hosts.launcher = is_in_allocation() ? HostLauncher::slurm : HostLauncher::mpirun;
  if (hosts.names.empty() && hosts.launcher == HostLauncher::slurm) hosts.names = allocated_hosts();
  return hosts;
}

HostsConfig hosts_of(const Config& config) {
  const std::vector<DevicesConfig>& devices = config.scaling.devices;
  const bool needs_several = std::any_of(devices.begin(), devices.end(), [](const DevicesConfig& some) { return some.hosts > 1; });
  return needs_several ? resolved(config.hosts) : config.hosts;
}

}  // namespace mgcompare
