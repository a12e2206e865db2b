// Correct, but changes settings of its thread: `what` names one of them. For good when it is made, or in each epoch until `settle()`.

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
    what_ = options.choice("what", "nothing", "what it changes", {"nothing", "rounding", "processors", "priority", "signals"});
    puts_back_ = options.flag("puts_back", false, "whether it restores the setting in settle()");
    if (!puts_back_) change();
  }

  Traits traits() const override {
    Traits traits;
    traits.promise = Traits::Promise::exact;
    return traits;
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    if (puts_back_) change();
    replica.backward(batch);
    group.all_reduce(replica.gradients());
    replica.update();
  }

  Vec settle(Replica& replica, Group&) override {
    if (puts_back_) put_back();
    return replica.weights();
  }

 private:
  void change() {
    if (what_ == "rounding") fesetround(FE_UPWARD);
    if (what_ == "processors") {
      sched_getaffinity(0, sizeof processors_, &processors_);
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
      sched_setaffinity(0, sizeof one, &one);
    }
    if (what_ == "priority") setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 3);
    if (what_ == "signals") mask(SIG_BLOCK);
  }

  // The priority only as root.
  void put_back() {
    if (what_ == "rounding") fesetround(FE_TONEAREST);
    if (what_ == "processors") sched_setaffinity(0, sizeof processors_, &processors_);
    if (what_ == "priority") setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 0);
    if (what_ == "signals") mask(SIG_UNBLOCK);
  }

  static void mask(int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(how, &set, nullptr);
  }

  std::string what_;
  bool puts_back_ = false;
  cpu_set_t processors_ = {};
};

}  // namespace

MGCOMPARE_STRATEGY(Meddler, "meddler", "correct, but changes settings of its thread")
