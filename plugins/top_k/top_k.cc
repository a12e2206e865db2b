// Deep gradient compression (Lin, Han, Mao, Wang, Dally: arXiv 1712.01887): each rank accumulates its gradients and sends
// the largest accumulated elements. Momentum is applied before the exchange, to each rank's own gradients ("momentum
// correction"); sent elements are cleared there ("factor masking"). The sum of the sent elements is applied without momentum.

#include <algorithm>
#include <cmath>
#include <optional>

#include "mgcompare/arithmetic.h"
#include "mgcompare/residual.h"
#include "mgcompare/strategy.h"
#include "sparse.h"

namespace {

using namespace mgcompare;

class TopK : public Strategy {
 public:
  TopK(Options& options, const Facts& facts)
      : ratio_(options.number("ratio", 0.01, "share of the elements that a step sends; 1 sends whole gradients", 0, 1)),
        warm_up_epochs_(static_cast<std::size_t>(
            options.integer("warm_up_epochs", 4, "epochs at the start in which the share falls from epoch to epoch to `ratio`", 0))),
        momentum_(facts.optimizer == "sgd" ? facts.momentum : 0), ranks_(static_cast<std::size_t>(facts.ranks)),
        steps_per_epoch_(facts.steps_per_epoch), epochs_(facts.epochs) {
    if (ratio_ <= 0) options.refuse("ratio", "must be above 0: a step that sends nothing learns nothing");
  }

  Traits traits() const override {
    Traits traits;
    traits.promise = whole() ? Traits::Promise::exact : Traits::Promise::approximate;
    traits.in_rank_order = whole();
    traits.repeats_every = 1;
    // Each epoch of the warm-up sends another number of elements.
    for (std::size_t epoch = 1; !whole() && epoch <= std::min(warm_up_epochs_, epochs_); ++epoch)
      traits.stages.push_back(epoch * steps_per_epoch_);
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    if (whole()) return;
    sparse_.emplace(replica.device(), replica.parts(), momentum_, ratio_at(0), ranks_);
    if (momentum_ > 0) plain_ = replica.device_optimizer(true);
    counts_updates_ = group.rank() == 0;
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    replica.backward(batch);
    if (!sparse_) {
      if (ranks_ > 1) group.all_reduce(replica.gradients());
      replica.update();
      return;
    }
    sent_ratio_ = ratio_at(batch.epoch());
    sparse_->run(replica.device(), group, replica.gradients(), sent_ratio_);
    if (!plain_) {
      replica.update();
      return;
    }
    // Every rank applies the same update to its own copy; only one of them counts.
    if (counts_updates_) plain_->advance();
    plain_->apply(replica.weights(), replica.gradients(), {0, replica.weights().size()}, batch);
  }

  Vec settle(Replica& replica, Group&) override {
    if (sparse_) report(replica);
    return replica.weights();
  }

  void save(Archive& archive) override {
    if (!sparse_) return;
    archive.put("velocity", sparse_->velocity());
    archive.put("unsent", sparse_->unsent());
  }
  void restore(Archive& archive) override {
    if (!sparse_) return;
    archive.get("velocity", sparse_->velocity());
    archive.get("unsent", sparse_->unsent());
  }

 private:
  bool whole() const { return ranks_ == 1 || ratio_ == 1; }

  // With four epochs and a ratio of 0.001: 25, 6.3, 1.6, 0.4 and then 0.1 per cent, as in the paper.
  double ratio_at(std::size_t epoch) const {
    if (epoch >= warm_up_epochs_) return ratio_;
    return std::pow(ratio_, static_cast<double>(epoch + 1) / static_cast<double>(warm_up_epochs_ + 1));
  }

  void report(Replica& replica) {
    report_residual(replica, sparse_->unsent());
    replica.metric("compression", static_cast<double>(replica.weights().bytes()) /
                                      static_cast<double>(sparse_->entries_at(sent_ratio_) * sizeof(top_k::Entry)));
  }

  double ratio_;
  double sent_ratio_ = 1;                // in the last step
  std::size_t warm_up_epochs_;
  double momentum_;
  std::size_t ranks_, steps_per_epoch_, epochs_;
  std::optional<top_k::Sparse> sparse_;  // empty if whole gradients are exchanged
  std::unique_ptr<Optimizer> plain_;     // only if the experiment has momentum
  bool counts_updates_ = false;
};

}  // namespace

MGCOMPARE_STRATEGY(TopK, "top_k", "the largest elements of the gradient with momentum correction (deep gradient compression, DGC)")
