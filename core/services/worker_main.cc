#include "services/worker_main.h"

#include <cstdio>
#include <string>
#include <vector>

#include "config/kinds.h"
#include "process/host_job.h"
#include "process/worker.h"
#include "services/doctor_service.h"
#include "services/host_worker.h"
#include "services/probe_service.h"
#include "services/trial_service.h"
#include "services/verify_service.h"
#include "train/session.h"

namespace mgcompare {

namespace {

constexpr std::string_view kWorker = "--worker", kHostJob = "--host-job", kHostWorker = "--host-worker";

int serve_all() {
  Session session;
  Handlers handlers = trial_handlers(session);
  handlers.merge(probe_handlers());
  handlers.merge(verify_handlers());
  handlers.merge(doctor_handlers());
  return serve(handlers);
}

// `words`: its arguments, each of which the program gave itself.
int run_on_hosts(std::string_view option, const std::vector<std::string>& words) {
  const double timeout = std::stod(words.at(0));
  if (option == kHostJob) return run_host_job(find_kind<HostLauncher>(words.at(1)).value(), {words.begin() + 2, words.end()}, timeout);
  return run_host_worker({words.at(1), words.at(2), timeout, {words.begin() + 3, words.end()}});
}

}  // namespace

bool is_worker_option(std::string_view word) { return word == kWorker || word == kHostJob || word == kHostWorker; }

int run_worker(int argc, char** argv) {
  const std::string_view option = argv[1];
  const std::size_t least = option == kHostJob ? 5 : option == kHostWorker ? 6 : 2;
  if (static_cast<std::size_t>(argc) < least) {
    std::fprintf(stderr, "mgcompare: %s is for the program itself; use --hosts\n", argv[1]);
    return 2;
  }
  // What a plugin prints is in the log before the next line of the program, and before a crash.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (option == kWorker) return serve_all();
  return run_on_hosts(option, {argv + 2, argv + argc});
}

}  // namespace mgcompare
