// Wrong on purpose: each rank takes the mean over its own share, and the ranks average these means. That is right only
// if all shares are equal. `verify` must detect it with shares of unequal size.

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

class MeanOfMeans : public Strategy {
 public:
  MeanOfMeans(Options&, const Facts&) {}

  Traits traits() const override {
    Traits traits;
    traits.promise = Traits::Promise::exact;
    return traits;
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    replica.backward(batch, Scale::own_share);
    const Vec gradients = replica.gradients();
    for (float& gradient : gradients) gradient /= static_cast<float>(group.size());
    group.all_reduce(gradients);
    replica.update();
  }
};

}  // namespace

MGCOMPARE_STRATEGY(MeanOfMeans, "mean_of_means", "wrong on purpose: averages means of unequal shares")
