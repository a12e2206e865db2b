// Computes what its own library says. With that of its twin, its weights would be those of the twin.

#include "mgcompare/strategy.h"
#include "part.h"

namespace {

using namespace mgcompare;

class Companion : public Strategy {
 public:
  Companion(Options&, const Facts&) {}
  Traits traits() const override { return {}; }
  void step(Replica& replica, Group& group, const Batch& batch) override {
    replica.backward(batch);
    group.all_reduce(replica.gradients());
    for (int i = 0; i < updates_per_step(); ++i) replica.update();
  }
};

}  // namespace

MGCOMPARE_STRATEGY(Companion, MGCOMPARE_COMPANION, "needs a library of its own")
