// Every rank trains its own network on its share of each batch: an upper bound for speed, without any exchange.

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

class Independent : public Strategy {
 public:
  Independent(Options&, const Facts&) {}

  Traits traits() const override {
    Traits traits;
    traits.models = Traits::Models::many;
    traits.role = Traits::Role::ceiling;
    traits.repeats_every = 1;
    return traits;
  }

  void step(Replica& replica, Group&, const Batch& batch) override {
    replica.backward(batch, Scale::own_share);
    replica.update();
  }
};

}  // namespace

MGCOMPARE_STRATEGY(Independent, "independent", "no exchange, N separate models: the ceiling of speed")
