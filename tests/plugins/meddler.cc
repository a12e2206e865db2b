// Correct, but changes settings of its thread when it is made: `what` names one of them.

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

class Meddler : public Strategy {
 public:
  Meddler(Options& options, const Facts&) {
    const std::string what = options.choice("what", "nothing", "what it changes", {"nothing", "rounding", "processors", "priority", "signals"});
    if (what == "rounding") fesetround(FE_UPWARD);
    if (what == "processors") {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
      sched_setaffinity(0, sizeof one, &one);
    }
    if (what == "priority") setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 3);
    if (what == "signals") {
      sigset_t set;
      sigemptyset(&set);
      sigaddset(&set, SIGTERM);
      pthread_sigmask(SIG_BLOCK, &set, nullptr);
    }
  }

  Traits traits() const override {
    Traits traits;
    traits.promise = Traits::Promise::exact;
    return traits;
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    replica.backward(batch);
    group.all_reduce(replica.gradients());
    replica.update();
  }
};

}  // namespace

MGCOMPARE_STRATEGY(Meddler, "meddler", "correct, but changes settings of its thread")
