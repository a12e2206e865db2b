// 1-bit SGD with error feedback (Seide, Fu, Droppo, Li, Yu: Interspeech 2014). A column is the gradient of one output of a
// layer; a bias is one column. Each element is sent as one bit, its sign, and each column as two floats, the means of its
// elements of either sign. The quantisation error is added to the next step's gradient. The optimiser, momentum included,
// runs on the exchanged sum, on every rank.

#include <algorithm>
#include <optional>

#include "exchange.h"
#include "mgcompare/arithmetic.h"
#include "mgcompare/residual.h"
#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

class OneBit : public Strategy {
 public:
  OneBit(Options& options, const Facts& facts)
      : bits_(static_cast<unsigned>(options.integer("bits", 1, "bits an element: 1, 2, 4, 8, or 32 for whole gradients", 1, 32))),
        orientation_(options.choice("orientation", "output", "what a column is of: an output of a layer, or an input",
                                    {"output", "input"}) == "output" ? onebit::Orientation::output : onebit::Orientation::input),
        warm_up_epochs_(static_cast<std::size_t>(
            options.integer("warm_up_epochs", 0, "epochs at the start that exchange whole gradients", 0))),
        keep_residual_(options.flag("residual", true, "what the bits leave out is added to the next step's gradient")),
        ranks_(static_cast<std::size_t>(facts.ranks)), steps_per_epoch_(facts.steps_per_epoch), epochs_(facts.epochs) {
    if (bits_ != 1 && bits_ != 2 && bits_ != 4 && bits_ != 8 && bits_ != 32)
      options.refuse("bits", "must be 1, 2, 4, 8, or 32 for whole gradients");
  }

  Traits traits() const override {
    Traits traits;
    const bool whole = ranks_ == 1 || bits_ == 32;
    traits.promise = whole ? Traits::Promise::exact : Traits::Promise::approximate;
    traits.in_rank_order = whole;
    traits.repeats_every = 1;
    if (!whole && warm_up_epochs_ > 0) traits.stages = {std::min(warm_up_epochs_, epochs_) * steps_per_epoch_};
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    if (ranks_ == 1 || bits_ == 32) return;
    exchange_.emplace(replica.device(), onebit::columns_of(replica.parts(), orientation_, bits_), bits_, keep_residual_,
                      replica.weights().size(), static_cast<std::size_t>(group.rank()), ranks_);
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    replica.backward(batch);
    compressed_ = exchange_ && batch.epoch() >= warm_up_epochs_;
    if (compressed_) exchange_->run(replica.device(), group, replica.gradients());
    else if (ranks_ > 1) group.all_reduce(replica.gradients());
    replica.update();
  }

  Vec settle(Replica& replica, Group&) override {
    if (exchange_) report(replica);
    return replica.weights();
  }

  void save(Archive& archive) override {
    if (!exchange_) return;
    archive.put("residual", exchange_->residual());
    archive.put("residual of the sum", exchange_->sum_residual());
  }
  void restore(Archive& archive) override {
    if (!exchange_) return;
    archive.get("residual", exchange_->residual());
    archive.get("residual of the sum", exchange_->sum_residual());
  }

 private:
  void report(Replica& replica) {
    if (keep_residual_) report_residual(replica, exchange_->residual());
    const std::size_t sent = compressed_ ? exchange_->wire_bytes() : replica.weights().bytes();
    replica.metric("compression", static_cast<double>(replica.weights().bytes()) / static_cast<double>(sent));
  }

  unsigned bits_;
  onebit::Orientation orientation_;
  std::size_t warm_up_epochs_;
  bool keep_residual_;
  bool compressed_ = false;              // whether the last step compressed
  std::size_t ranks_, steps_per_epoch_, epochs_;
  std::optional<onebit::Exchange> exchange_;  // empty if whole gradients are exchanged
};

}  // namespace

MGCOMPARE_STRATEGY(OneBit, "onebit", "1-bit gradients with error feedback, exchanged in stripes")
