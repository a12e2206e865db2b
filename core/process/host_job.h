#pragma once

// A job of one worker on each of several hosts, as a single worker to the supervisor: a process that starts mpirun, passes messages on
// between the runner and the worker of the first host, which runs on this machine, and answers itself when the job ends.

#include <string>
#include <vector>

#include "config/config.h"
#include "process/supervisor.h"

namespace mgcompare {

// The settings of a supervisor of such a job.
SupervisorSettings host_job_settings(const HostsConfig& hosts, SupervisorSettings settings);

// The main function of that process (the hidden option --host-job). The workers run this executable with --host-worker.
int run_host_job(HostLauncher launcher, const std::vector<std::string>& hosts, double seconds_to_answer);

// In the worker of the first host: connects to the process above at `socket`, and takes the descriptors that serve() uses.
void join_host_job(const std::string& socket, const std::string& position);

}  // namespace mgcompare
