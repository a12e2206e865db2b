#pragma once

// The strategy of references (plan/controls.h): one device, no exchange. The program's own, so that a reference needs no plugin.

#include "mgcompare/strategy.h"

namespace mgcompare {

class OneDevice : public Strategy {
 public:
  Traits traits() const override {
    return {.promise = Traits::Promise::exact, .role = Traits::Role::baseline, .most_ranks = 1, .repeats_every = 1};
  }
  void step(Replica& replica, Group&, const Batch& batch) override {
    replica.backward(batch);
    replica.update();
  }
};

}  // namespace mgcompare
