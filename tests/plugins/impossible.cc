// Declares an option that no value fits. With MGCOMPARE_TEST_OPENED it notes in that file that it is opened, and blocks there.

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

struct Opening {
  Opening() {
    const char* const file = std::getenv("MGCOMPARE_TEST_OPENED");
    if (file == nullptr) return;
    std::ofstream(file, std::ios::app) << "opened\n" << std::flush;
    for (;;) pause();
  }
} opening;

class Impossible : public Strategy {
 public:
  Impossible(Options& options, const Facts&) { options.integer("every", 0, "steps from one exchange to the next", 1, 9); }
  Traits traits() const override { return {}; }
  void step(Replica& replica, Group& group, const Batch& batch) override {
    replica.backward(batch);
    group.all_reduce(replica.gradients());
    replica.update();
  }
};

}  // namespace

MGCOMPARE_STRATEGY(Impossible, "impossible", "wrong on purpose: declares an option with a default outside of its range")
