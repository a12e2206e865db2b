#pragma once

// A worker of a job over several hosts, which mpirun started. That of the first host answers the runner's requests and passes them on to the
// others. All of them run the same trial; the first one has its result.

#include <string>
#include <vector>

namespace mgcompare {

struct HostWorkerSettings {
  std::string socket, position;     // of the process that started mpirun, for the first host
  double timeout = 10;              // seconds after which a silent host is lost
  std::vector<std::string> names;   // of the hosts, in their order
};

// The main function of such a worker (the hidden option --host-worker).
int run_host_worker(const HostWorkerSettings& settings);

}  // namespace mgcompare
