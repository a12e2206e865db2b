// One device holds the parameters (PyTorch's DataParallel, Keras's multi_gpu_model). Each step broadcasts them from it,
// gathers the logits on it, computes the loss and its gradient there for the whole batch, scatters that gradient, reduces the
// parameters' gradients to it and applies them there. Other devices keep no state between steps.

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

constexpr int kHolder = 0;

class DataParallel : public Strategy {
 public:
  DataParallel(Options&, const Facts& facts) : global_batch_(facts.global_batch) {}

  Traits traits() const override {
    Traits traits;
    traits.promise = Traits::Promise::exact;
    traits.in_rank_order = true;
    traits.repeats_every = 1;
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    if (group.size() == 1) return;
    const std::size_t own = share_limit(group) * replica.outputs();
    slopes_ = device_array<float>(replica.device(), own);
    if (group.rank() != kHolder) {
      settled_ = device_array<float>(replica.device(), replica.weights().size());
      return;
    }
    all_logits_ = device_array<float>(replica.device(), global_batch_ * replica.outputs());
    all_slopes_ = device_array<float>(replica.device(), global_batch_ * replica.outputs());
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    if (group.size() == 1) {
      replica.backward(batch);
      replica.update();
      return;
    }
    group.broadcast(replica.weights(), kHolder);
    const Vec slopes = slopes_.span().slice({0, batch.size() * replica.outputs()});
    exchange_logits(replica, group, batch, slopes);
    replica.backward_from(batch, slopes);
    group.reduce(replica.gradients(), kHolder);
    if (group.rank() == kHolder) replica.update();
  }

  // Other devices have not received the last update yet: the next step broadcasts it. Here they receive a copy.
  Vec settle(Replica& replica, Group& group) override {
    const Vec settled = settled_.empty() ? replica.weights() : settled_.span();
    group.broadcast(settled, kHolder);
    return settled;
  }

 private:
  std::size_t share_limit(Group& group) const { return global_batch_ / static_cast<std::size_t>(group.size()) + 1; }

  // Sends the logits to the holder, and receives the gradient of the loss into `slopes`.
  void exchange_logits(Replica& replica, Group& group, const Batch& batch, Vec slopes) {
    Counts counts;
    for (int rank = 0; rank < group.size(); ++rank)
      counts.push_back(batch.size_of(static_cast<std::size_t>(rank)) * replica.outputs());
    const Vec logits = replica.forward(batch);
    const Range whole = {0, group.rank() == kHolder ? batch.global_size() * replica.outputs() : 0};
    const Vec all_logits = all_logits_.span().slice(whole), all_slopes = all_slopes_.span().slice(whole);
    group.gather(logits, all_logits, kHolder, counts);
    if (group.rank() == kHolder) replica.loss(batch.whole(), all_logits, all_slopes);
    group.scatter(all_slopes, slopes, kHolder, counts);
  }

  std::size_t global_batch_;
  Array<float> all_logits_, all_slopes_;  // (global batch, outputs); on the holder
  Array<float> slopes_;                   // (own share, outputs)
  Array<float> settled_;                  // not on the holder
};

}  // namespace

MGCOMPARE_STRATEGY(DataParallel, "data_parallel", "device 0 holds the parameters: broadcast, gather logits, scatter, reduce")
