// Local SGD: each rank updates its own copy from its own share. Every k steps the copies are replaced by their mean,
// weighted by the samples that each has seen since the last averaging (Stich: arXiv 1805.09767). Post-local SGD exchanges
// gradients in each step until a given epoch, and makes local steps from then on (Lin, Stich, Patel, Jaggi: arXiv
// 1808.07217).

#include <algorithm>
#include <limits>
#include <string>

#include "mgcompare/arithmetic.h"
#include "mgcompare/drift.h"
#include "mgcompare/local_steps.h"
#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

constexpr std::size_t kEvery = 8;

class LocalSgd : public Strategy {
 public:
  LocalSgd(Options& options, const Facts& facts)
      : every_(static_cast<std::size_t>(options.integer("every", usual_period(facts), "steps from one averaging to the next", 1))),
        start_epoch_(static_cast<std::size_t>(options.integer(
            "start_epoch", 0, "the first epoch (from 0) of local steps; before it gradients are summed in each step", 0))),
        momentum_(options.choice("momentum", "averaged", "the optimiser's state at an averaging: kept, averaged or forgotten",
                                 {"local", "averaged", "reset"})),
        facts_(facts) {
    if (every_ > facts.steps_per_epoch && facts.steps_per_epoch > 0)
      options.refuse("every", "is longer than the epoch of " + std::to_string(facts.steps_per_epoch) + " steps: at most " + std::to_string(facts.steps_per_epoch));
  }

  Traits traits() const override {
    Traits traits;
    const bool never_local = facts_.ranks == 1 || start_epoch_ >= facts_.epochs;
    // The mean of updated copies equals an update by the mean gradient only if the rule, with its state, is linear.
    const bool linear = facts_.optimizer == "sgd" && (facts_.momentum == 0 || momentum_ == "averaged");
    if (never_local || (every_ == 1 && linear)) traits.promise = Traits::Promise::exact;
    traits.in_rank_order = never_local;
    traits.repeats_every = never_local ? 1 : start_epoch_ == 0 ? static_cast<int>(std::min<std::size_t>(every_, std::numeric_limits<int>::max())) : 0;
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    if (group.size() == 1) return;
    const std::size_t n = replica.weights().size();
    own_ = device_array<float>(replica.device(), n);
    drift_ = Drift(replica.device(), n);
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    if (group.size() == 1 || batch.epoch() < start_epoch_) {
      replica.backward(batch);
      group.all_reduce(replica.gradients());
      replica.update();
      return;
    }
    local_.step(replica, batch);
    if (local_.count() < every_) return;
    average(replica, group);
    local_.begin();
  }

  // Within a period: the mean as if the ranks averaged now. Training continues with the copies.
  Vec settle(Replica& replica, Group& group) override {
    if (group.size() == 1) return replica.weights();
    drift_.report(replica);
    if (local_.count() == 0) return replica.weights();
    copy(replica.device(), own_.span(), replica.weights());
    local_.take_mean(replica.device(), group, own_.span());
    return own_;
  }

  void save(Archive& archive) override { local_.save(archive); }
  void restore(Archive& archive) override { local_.restore(archive); }

 private:
  static std::int64_t usual_period(const Facts& facts) {
    return static_cast<std::int64_t>(facts.steps_per_epoch == 0 ? kEvery : std::min(kEvery, facts.steps_per_epoch));
  }

  void average(Replica& replica, Group& group) {
    Device& device = replica.device();
    copy(device, own_.span(), replica.weights());
    local_.take_mean(device, group, replica.weights());
    drift_.add(device, own_.span(), replica.weights());
    if (momentum_ == "averaged")
      for (const Vec state : replica.optimizer().state()) local_.take_mean(device, group, state);
    if (momentum_ == "reset") replica.optimizer().reset();
  }

  std::size_t every_, start_epoch_;
  std::string momentum_;
  Facts facts_;
  Array<float> own_;                 // this rank's weights before an averaging, or the result of settle()
  Drift drift_;
  LocalSteps local_;                 // since the last averaging
};

}  // namespace

MGCOMPARE_STRATEGY(LocalSgd, "local_sgd", "local steps, weights averaged every k of them, from the start or from an epoch on")
