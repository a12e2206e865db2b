#include "process/slurm.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <fmt/format.h>

#include "base/program_search.h"
#include "base/text.h"
#include "config/host_name.h"
#include "mgcompare/error.h"
#include "process/program_output.h"

namespace mgcompare {
namespace {

constexpr char kHostList[] = "SLURM_JOB_NODELIST";

bool needs_several(const Config& config) {
  const std::vector<DevicesConfig>& devices = config.scaling.devices;
  return std::any_of(devices.begin(), devices.end(), [](const DevicesConfig& some) { return some.hosts > 1; });
}

}  // namespace

bool is_in_allocation() { return std::getenv("SLURM_JOB_ID") != nullptr && std::getenv(kHostList) != nullptr; }

std::vector<std::string> allocated_hosts() {
  const std::string program = find_program("scontrol");
  if (program.empty())
    throw Error(fmt::format("this is a Slurm allocation ({} is set), but there is no scontrol on PATH to tell its hosts: load Slurm's commands, or name "
                            "the hosts with --hosts", kHostList));
  const ProgramOutput output = output_of({program, "show", "hostnames", std::getenv(kHostList)});
  std::istringstream lines(output.text);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) names.push_back(line);
  if (output.exit_code != 0 || names.empty() || !std::all_of(names.begin(), names.end(), is_host_name))
    throw Error(fmt::format("scontrol cannot tell the hosts of this Slurm allocation (\"{}\"): name them with --hosts",
                            plain(names.empty() ? "no output" : names.front())));
  return names;
}

HostsConfig hosts_of(const Config& config) { return needs_several(config) ? decided(config.hosts) : config.hosts; }

HostsConfig decided(HostsConfig hosts) {
  if (hosts.launcher == HostLauncher::slurm && !is_in_allocation())
    throw Error("'hosts.launcher' is slurm, but this is no Slurm allocation: start mgcompare with sbatch or salloc, or write `launcher: mpirun`");
  if (hosts.launcher == HostLauncher::automatic) hosts.launcher = is_in_allocation() ? HostLauncher::slurm : HostLauncher::mpirun;
  if (hosts.names.empty() && hosts.launcher == HostLauncher::slurm) hosts.names = allocated_hosts();
  return hosts;
}

}  // namespace mgcompare
