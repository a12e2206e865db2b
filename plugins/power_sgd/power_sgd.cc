// PowerSGD (Vogels, Karimireddy, Jaggi: arXiv 1905.13727): one power iteration approximates each gradient matrix by a
// product of two thin matrices, which are summed over ranks. The approximation error is added to the next step's gradient.
// The optimiser, momentum included, runs on the exchanged sum, on every rank.

#include <optional>

#include "low_rank.h"
#include "mgcompare/arithmetic.h"
#include "mgcompare/residual.h"
#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

class PowerSgd : public Strategy {
 public:
  PowerSgd(Options& options, const Facts& facts)
      : rank_(static_cast<std::size_t>(options.integer("rank", 4, "columns of the thin matrices", 1, 64))),
        warm_up_steps_(static_cast<std::size_t>(
            options.integer("warm_up_steps", 10, "steps at the start that exchange whole gradients", 0))),
        ranks_(static_cast<std::size_t>(facts.ranks)), steps_per_epoch_(facts.steps_per_epoch) {}

  Traits traits() const override {
    Traits traits;
    // One rank exchanges nothing, so it compresses nothing.
    traits.promise = ranks_ == 1 ? Traits::Promise::exact : Traits::Promise::approximate;
    traits.in_rank_order = ranks_ == 1;
    traits.repeats_every = 1;
    if (ranks_ > 1 && warm_up_steps_ > 0) traits.stages = {warm_up_steps_};
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    if (ranks_ == 1) return;
    Device& device = replica.device();
    low_rank_.emplace(device, replica.parts(), rank_, ranks_, replica.random(0));
    // All ranks start with rank 0's numbers. The barrier: no rank may exchange while another allocates.
    group.barrier();
    group.broadcast(low_rank_->q(), 0);
    device.synchronize();
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    replica.backward(batch);
    compressed_ = low_rank_ && batch.epoch() * steps_per_epoch_ + batch.step() >= warm_up_steps_;
    if (compressed_)
      low_rank_->run(replica.device(), group, replica.gradients());
    else if (ranks_ > 1)
      group.all_reduce(replica.gradients());
    replica.update();
  }

  Vec settle(Replica& replica, Group&) override {
    if (low_rank_) report(replica);
    return replica.weights();
  }

  void save(Archive& archive) override {
    if (!low_rank_) return;
    archive.put("q", low_rank_->q());
    archive.put("error", low_rank_->error());
  }
  void restore(Archive& archive) override {
    if (!low_rank_) return;
    archive.get("q", low_rank_->q());
    archive.get("error", low_rank_->error());
  }

 private:
  void report(Replica& replica) {
    report_residual(replica, low_rank_->error());
    const std::size_t sent = compressed_ ? low_rank_->exchanged() : replica.weights().size();
    replica.metric("compression", static_cast<double>(replica.weights().size()) / static_cast<double>(sent));
  }

  std::size_t rank_, warm_up_steps_, ranks_, steps_per_epoch_;
  bool compressed_ = false;                     // whether the last step compressed
  std::optional<power_sgd::LowRank> low_rank_;  // empty on one rank
};

}  // namespace

MGCOMPARE_STRATEGY(PowerSgd, "power_sgd", "low-rank gradients with error feedback")
