// One device, no exchange: the baseline of every comparison.

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

class Serial : public Strategy {
 public:
  Serial(Options&, const Facts&) {}

  Traits traits() const override {
    Traits traits;
    traits.promise = Traits::Promise::exact;
    traits.in_rank_order = true;
    traits.role = Traits::Role::baseline;
    traits.most_ranks = 1;
    traits.repeats_every = 1;
    return traits;
  }

  void step(Replica& replica, Group&, const Batch& batch) override {
    replica.backward(batch);
    replica.update();
  }
};

}  // namespace

MGCOMPARE_STRATEGY(Serial, "serial", "one device, no exchange: the baseline")
