// Every rank sums all gradients and updates its own copy (PyTorch DDP, tf_cnn_benchmarks' replicated). The gradient is
// exchanged in buckets as the backward pass finishes them, last layers first.

#include <algorithm>

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

class Replicated : public Strategy {
 public:
  Replicated(Options& options, const Facts&)
      : bucket_(elements(options.integer("bucket_bytes", 25 << 20, "gradient bytes to one all-reduce", 4))),
        first_bucket_(elements(options.integer("first_bucket_bytes", 1 << 20,
                                               "bytes of the first all-reduce, smaller so that it starts early", 4))) {}

  Traits traits() const override {
    Traits traits;
    traits.promise = Traits::Promise::exact;
    traits.in_rank_order = true;
    traits.repeats_every = 1;
    return traits;
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    if (group.size() == 1) {
      replica.backward(batch);
    } else {
      const Vec gradients = replica.gradients();
      std::size_t sent = gradients.size();   // everything from here on is with the group
      std::size_t limit = first_bucket_;
      replica.backward(batch, [&](Vec slice) {
        const std::size_t ready = static_cast<std::size_t>(slice.data() - gradients.data());
        if (sent - ready < limit && ready > 0) return;
        group.all_reduce(gradients.slice({ready, sent}));
        sent = ready;
        limit = bucket_;
      });
    }
    replica.update();
  }

 private:
  static std::size_t elements(std::int64_t bytes) { return static_cast<std::size_t>(bytes) / sizeof(float); }

  std::size_t bucket_;
  std::size_t first_bucket_;
};

}  // namespace

MGCOMPARE_STRATEGY(Replicated, "replicated", "every rank sums all gradients, then updates its own copy")
