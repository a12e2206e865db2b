#pragma once

#include <string_view>

namespace mgcompare {

// Whether the first argument is one of the hidden options with which the program starts itself: --worker; --host-job TIMEOUT NAME..., which
// starts a job on several hosts; --host-worker TIMEOUT SOCKET POSITION NAME..., a worker of such a job.
bool is_worker_option(std::string_view word);
// The main function of these processes. A worker answers the requests of all services.
int run_worker(int argc, char** argv);

}  // namespace mgcompare
