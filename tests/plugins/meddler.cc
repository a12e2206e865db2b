// Correct, but changes settings of its thread: `what` names one of them. For good when it is made, or in each epoch until `settle()`, or until `rest()` at free
// pace.

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

class Meddler : public Strategy {
 public:
  Meddler(Options& options, const Facts&) {
    what_ = options.choice("what", "nothing", "what it changes", {"nothing", "rounding", "processors", "priority", "signals"});
    puts_back_ = options.flag("puts_back", false, "whether it restores the setting after the steps of an epoch");
    is_free_ = options.flag("free", false, "whether ranks run freely");
    if (!puts_back_) change();
  }

  Traits traits() const override {
    Traits traits;
    traits.promise = is_free_ ? Traits::Promise::approximate : Traits::Promise::exact;
    traits.pace = is_free_ ? Traits::Pace::free : Traits::Pace::lockstep;
    if (is_free_) traits.models = Traits::Models::many;
    return traits;
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    if (puts_back_) change();
    replica.backward(batch);
    if (!is_free_) group.all_reduce(replica.gradients());
    replica.update();
  }

  void rest(Replica&, Group&) override {
    if (puts_back_) put_back();
  }

  Vec settle(Replica& replica, Group&) override {
    if (puts_back_) put_back();
    return replica.weights();
  }

 private:
  void change() {
    if (what_ == "rounding") fesetround(FE_UPWARD);
    if (what_ == "processors" && CPU_COUNT(&processors_) == 0) {
      sched_getaffinity(0, sizeof processors_, &processors_);
      // Of a thread that is bound to one: all.
      cpu_set_t others;
      std::memset(&others, CPU_COUNT(&processors_) == 1 ? 0xff : 0, sizeof others);
      CPU_SET(static_cast<unsigned>(sched_getcpu()), &others);
      sched_setaffinity(0, sizeof others, &others);
    }
    if (what_ == "priority") setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 3);
    if (what_ == "signals") mask(SIG_BLOCK);
  }

  // The priority only as root.
  void put_back() {
    if (what_ == "rounding") fesetround(FE_TONEAREST);
    if (what_ == "processors") {
      sched_setaffinity(0, sizeof processors_, &processors_);
      CPU_ZERO(&processors_);
    }
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
  bool puts_back_ = false, is_free_ = false;
  cpu_set_t processors_ = {};
};

}  // namespace

MGCOMPARE_STRATEGY(Meddler, "meddler", "correct, but changes settings of its thread")
