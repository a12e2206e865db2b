#pragma once

namespace mgcompare {

// The main function of a worker process (the hidden option --worker): answers the requests of all services.
int run_worker();

}  // namespace mgcompare
