// Blockwise model-update filtering (Chen and Huo: ICASSP 2016). Each rank trains alone for a block of steps. The difference
// between the ranks' mean, weighted by samples, and the weights at the beginning of the block is then filtered with a block
// momentum:
//   G = mean - begin,   D = eta D' + zeta G,   W = W' + D
// The next block begins at W (classical block momentum, cbm) or at W + eta D (Nesterov's, nbm). In CNTK's form the model
// includes the look-ahead: W = begin + D + eta D.

#include <algorithm>
#include <limits>
#include <string>

#include "mgcompare/arithmetic.h"
#include "mgcompare/drift.h"
#include "mgcompare/local_steps.h"
#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

constexpr std::size_t kPeriod = 16;

enum class Variant { cbm, nbm, nbm_cntk };

// One element at the end of a block.
struct Block {
  float model, filtered, next;  // W, D, where the next block begins
};

// Formulated as corrections of the mean, so that eta = 0 and zeta = 1 give the mean to the bit (model averaging). An nbm
// block begins at W' + eta D', so the mean already contains that part of D.
struct Rule {
  Variant variant;
  float eta, zeta;
  MGCOMPARE_FUNCTION Block operator()(float mean, float begin, float filtered) const {
    const float update = mean - begin, carried = eta * filtered, now = carried + zeta * update;
    const float moved = mean + (zeta - 1) * update;
    if (variant == Variant::nbm) return {moved, now, moved + eta * now};
    const float model = variant == Variant::cbm ? moved + carried : moved + carried + eta * now;
    return {model, now, model};
  }
};

Variant variant_of(const std::string& name) {
  return name == "cbm" ? Variant::cbm : name == "nbm" ? Variant::nbm : Variant::nbm_cntk;
}

class Bmuf : public Strategy {
 public:
  Bmuf(Options& options, const Facts& facts)
      : variant_(variant_of(options.choice("variant", "nbm", "block momentum: classical, Nesterov's, Nesterov's as CNTK has it",
                                           {"cbm", "nbm", "nbm_cntk"}))),
        period_(static_cast<std::size_t>(options.integer("period", usual_period(facts), "steps of a block", 1))),
        reset_momentum_(options.flag("reset_momentum", true, "ranks forget their optimiser's state at the end of a block")) {
    const auto ranks = static_cast<std::size_t>(facts.ranks);
    eta_ = options.number_or_auto("eta", "block momentum; auto: 1 - 1 / ranks", 0, 0.9999)
               .value_or(1 - 1 / static_cast<double>(ranks));
    zeta_ = options.number("zeta", 1, "block learning rate", 1e-6, 1e6);
    alone_ = ranks == 1 && eta_ == 0 && zeta_ == 1;
    const std::size_t steps = facts.steps_per_epoch;
    if (steps == 0) return;
    if (period_ > steps)
      options.refuse("period", "is longer than the epoch of " + std::to_string(steps) + " steps: at most " + std::to_string(steps));
    // CNTK's rule of thumb: with fewer blocks the block momentum does not reach its steady state.
    else if (!alone_ && period_ * ranks * ranks > steps * facts.epochs)
      options.warn("period", "training is " + std::to_string(steps * facts.epochs) + " steps; blocks of " +
                                 std::to_string(period_) + " on " + std::to_string(ranks) + " ranks want at least " +
                                 std::to_string(period_ * ranks * ranks) + " (period x ranks x ranks)");
  }

  Traits traits() const override {
    Traits traits;
    if (alone_) traits.promise = Traits::Promise::exact;
    traits.repeats_every = alone_ ? 1 : static_cast<int>(std::min<std::size_t>(period_, std::numeric_limits<int>::max()));
    return traits;
  }

  void start(Replica& replica, Group&) override {
    if (alone_) return;
    Device& device = replica.device();
    const std::size_t n = replica.weights().size();
    for (Array<float>* array : {&begin_, &filtered_, &model_, &own_}) *array = device_array<float>(device, n);
    drift_ = Drift(device, n);
    copy(device, begin_.span(), replica.weights());
    copy(device, model_.span(), replica.weights());
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    if (alone_) {
      replica.backward(batch);
      replica.update();
      return;
    }
    local_.step(replica, batch);
    if (local_.count() < period_) return;

    Device& device = replica.device();
    copy(device, own_.span(), replica.weights());
    local_.take_mean(device, group, replica.weights());
    drift_.add(device, own_.span(), replica.weights());
    filter(device, replica.weights());
    if (reset_momentum_) replica.optimizer().reset();
    local_.begin();
  }

  // The model without its look-ahead. Within a block, the model as if the block ended here.
  Vec settle(Replica& replica, Group& group) override {
    if (alone_) return replica.weights();
    drift_.report(replica);
    if (local_.count() == 0) return model_;
    copy(replica.device(), own_.span(), replica.weights());
    local_.take_mean(replica.device(), group, own_.span());
    preview(replica.device(), own_.span());
    return own_;
  }

  void save(Archive& archive) override {
    if (alone_) return;
    archive.put("begin of the block", begin_.span());
    archive.put("filtered update", filtered_.span());
    archive.put("model", model_.span());
    local_.save(archive);
  }
  void restore(Archive& archive) override {
    if (alone_) return;
    archive.get("begin of the block", begin_.span());
    archive.get("filtered update", filtered_.span());
    archive.get("model", model_.span());
    local_.restore(archive);
  }

  // Public: nvcc accepts no lambda for GPUs in a private method.

  // Ends a block. `weights` are the ranks' mean and become the weights at the beginning of the next block.
  void filter(Device& device, Vec weights) {
    const Rule rule = this->rule();
    float* const w = weights.data();
    float* const begin = begin_.data();
    float* const filtered = filtered_.data();
    float* const model = model_.data();
    for_each(device, weights.size(), [=] MGCOMPARE_FUNCTION(std::size_t i) {
      const Block block = rule(w[i], begin[i], filtered[i]);
      model[i] = block.model;
      filtered[i] = block.filtered;
      w[i] = begin[i] = block.next;
    });
  }

  // Replaces the mean by the model that ending the block would give. Changes nothing else.
  void preview(Device& device, Vec mean) {
    const Rule rule = this->rule();
    float* const m = mean.data();
    const float* const begin = begin_.data();
    const float* const filtered = filtered_.data();
    for_each(device, mean.size(), [=] MGCOMPARE_FUNCTION(std::size_t i) { m[i] = rule(m[i], begin[i], filtered[i]).model; });
  }

 private:
  Rule rule() const { return {variant_, static_cast<float>(eta_), static_cast<float>(zeta_)}; }

  static std::int64_t usual_period(const Facts& facts) {
    return static_cast<std::int64_t>(facts.steps_per_epoch == 0 ? kPeriod : std::min(kPeriod, facts.steps_per_epoch));
  }

  Variant variant_;
  std::size_t period_;
  bool reset_momentum_;
  double eta_ = 0, zeta_ = 1;
  bool alone_ = false;               // one rank and no filter: plain training
  Array<float> begin_;               // the weights at the beginning of the block
  Array<float> filtered_;            // D
  Array<float> model_;               // W
  Array<float> own_;                 // this rank's weights before an averaging, or the result of settle()
  Drift drift_;
  LocalSteps local_;                 // since the beginning of the block
};

}  // namespace

MGCOMPARE_STRATEGY(Bmuf, "bmuf", "blockwise model-update filtering: local steps, then a block momentum on the mean update")
