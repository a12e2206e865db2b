// One device holds the parameters (PyTorch's DataParallel, Keras's multi_gpu_model). Each step broadcasts them from it,
// gathers the logits on it, computes the loss and its gradient there for the whole batch, scatters that gradient, reduces the
// parameters' gradients to it and applies them there. Other devices keep no state between steps. With `inputs: scatter` it also
// prepares the samples of the whole batch and scatters them.

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

constexpr int kHolder = 0;

class DataParallel : public Strategy {
 public:
  DataParallel(Options& options, const Facts& facts)
      : scatters_inputs_(options.choice("inputs", "local", "who reads the samples: each device its own, or device 0 all, to scatter them",
                                        {"local", "scatter"}) == "scatter"),
        global_batch_(facts.global_batch) {}

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
    if (scatters_inputs_) {
      inputs_ = device_array<float>(replica.device(), share_limit(group) * replica.inputs());
      if (group.rank() == kHolder) all_inputs_ = device_array<float>(replica.device(), global_batch_ * replica.inputs());
    }
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
    const Counts counts = counts_of(group, batch, replica.outputs());
    const Vec logits = scatters_inputs_ ? replica.forward(batch, scattered(replica, group, batch)) : replica.forward(batch);
    const Range whole = {0, group.rank() == kHolder ? batch.global_size() * replica.outputs() : 0};
    const Vec all_logits = all_logits_.span().slice(whole), all_slopes = all_slopes_.span().slice(whole);
    group.gather(logits, all_logits, kHolder, counts);
    if (group.rank() == kHolder) replica.loss(batch.whole(), all_logits, all_slopes);
    group.scatter(all_slopes, slopes, kHolder, counts);
  }

  // Values of each rank's share.
  static Counts counts_of(Group& group, const Batch& batch, std::size_t of_sample) {
    Counts counts;
    for (int rank = 0; rank < group.size(); ++rank) counts.push_back(batch.size_of(static_cast<std::size_t>(rank)) * of_sample);
    return counts;
  }

  // The holder reads the samples of all ranks.
  Vec scattered(Replica& replica, Group& group, const Batch& batch) {
    const Vec own = inputs_.span().slice({0, batch.size() * replica.inputs()});
    const Vec all = all_inputs_.span().slice({0, group.rank() == kHolder ? batch.global_size() * replica.inputs() : 0});
    if (group.rank() == kHolder) replica.read(batch.whole(), all);
    group.scatter(all, own, kHolder, counts_of(group, batch, replica.inputs()));
    return own;
  }

  bool scatters_inputs_;
  std::size_t global_batch_;
  Array<float> all_inputs_;               // (global batch, inputs); on the holder
  Array<float> inputs_;                   // (own share, inputs)
  Array<float> all_logits_, all_slopes_;  // (global batch, outputs); on the holder
  Array<float> slopes_;                   // (own share, outputs)
  Array<float> settled_;                  // not on the holder
};

}  // namespace

MGCOMPARE_STRATEGY(DataParallel, "data_parallel", "device 0 holds the parameters: broadcast, gather logits, scatter, reduce")
