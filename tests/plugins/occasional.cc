// Breaks a promise only at times, which `how` names: in one epoch, or where values are small. Otherwise it sums gradients over the
// ranks and updates every copy, which is exact. `verify` must detect each, and accept what is unusual but honest. For CPU devices only.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "board.h"
#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

constexpr float kEasy = 0.01f;              // the largest element of the gradient of a sample's loss
constexpr float kSmall = 0.8f;              // the sum of the ranks' gradient norms

float norm_of(ConstVec values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return static_cast<float>(std::sqrt(sum));
}

class Occasional : public Strategy {
 public:
  Occasional(Options& options, const Facts& facts)
      : how_(options.choice("how", "nothing", "the promise that it breaks",
                            {"nothing",
                             "uncounted first epoch",    // gradients are summed through shared memory
                             "uncounted second epoch",   // likewise
                             "uncounted ninth epoch",    // likewise
                             "settles larger first",     // settle() returns 1.2 times the weights after the first epoch
                             "settles apart first",      // settle() returns other weights on each rank after the first epoch
                             "repeats passes first",     // every rank also computes the share of another in the first epoch
                             "drops easy samples",       // those that are learned
                             "skips small exchanges",    // rank 0's gradient stands for all
                             "keeps idle weights",       // whose summed gradient is exactly 0
                             "scales with adagrad",      // gradients, times 1.01
                             "scales large shares",      // likewise, of more than 40 samples
                             "scales large shares late",  // likewise, from step 10 on
                             "doubles large shares with adam",  // in every second step: adam takes no notice of a constant factor
                             "scales late",              // as with adagrad, from step 250 on
                             "drops small batches",      // with fewer samples than a quarter of the others
                             "drops full last batches",  // of an epoch
                             "scales single steps",      // of an epoch
                             "scales unordered",         // likewise, where the order of ranks is not fixed
                             "forgets at a fall",        // the optimiser's state, where the learning rate halves
                             "halves small rates",       // where the learning rate is less than half of the largest so far
                             "scales large rates",       // as with adagrad, where the learning rate is more than 0.1
                             "scales late epochs",       // likewise, from the ninth epoch on, with several steps in each
                             "scales long trainings",    // likewise, of ten epochs or more
                             "knows one network",        // as with adagrad, where the weights are not as many as in the first training
                             "peeks first",              // in the first epoch, passes some samples forward without learning from them
                             "passes mirrored first",    // in the first epoch, with the signs of weights around a tanh changed, and back
                             "keeps the first epoch",    // passes get batches as in the first epoch
                             "passes in start",          // start() passes a batch
                             "updates in start",         // start() updates a copy of the weights
                             "updates in restore",       // restore() updates a copy of the weights
                             "passes in settle",         // settle() passes the last batch again
                             "updates in settle",        // settle() returns a copy with one more update
                             "counts to 256",            // scales gradients by a count of steps, which it saves in one byte
                             "computes losses twice"})),  // honest
        in_rank_order_(options.flag("in_rank_order", false, "promises sums in rank order, which all_reduce() makes on CPUs")),
        approximate_(options.flag("approximate", false, "promises approximate weights in place of exact ones")),
        has_adagrad_(facts.optimizer == "adagrad"),
        has_adam_(facts.optimizer == "adam"),
        is_ordered_(facts.ordered),
        epochs_(facts.epochs),
        steps_per_epoch_(facts.steps_per_epoch),
        global_batch_(facts.global_batch) {}

  Traits traits() const override {
    Traits traits;
    traits.promise = approximate_ ? Traits::Promise::approximate : Traits::Promise::exact;
    traits.in_rank_order = in_rank_order_;
    traits.devices = {DeviceKind::cpu};
    traits.one_host = how_.starts_with("uncounted");
    return traits;
  }

  void start(Replica& replica, Group&) override {
    own_ = device_array<float>(replica.device(), replica.weights().size());
    replica_ = &replica;
    const Shape shape{replica.inputs()};
    const Batch first({0, 0, 0, 1, 0, 1, 0.1}, shape);
    if (how_ == "passes in start") replica.forward(first);
    if (how_ == "updates in start") replica.optimizer().update(own_.span(), replica.gradients(), first);
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    epoch_ = batch.epoch();
    last_ = batch;
    compute(replica, group, how_ == "keeps the first epoch" ? of_first_epoch(batch, group) : batch);
    exchange(replica.gradients(), group);
    if (scales(batch, group))
      for (float& gradient : replica.gradients()) gradient *= how_ == "doubles large shares with adam" ? 2 : how_.starts_with("drops") ? 0 : 1.01f;
    if (how_ == "counts to 256" && steps_++ != batch.epoch() * steps_per_epoch_ + batch.step())
      for (float& gradient : replica.gradients()) gradient *= 1.01f;
    follow_rate(replica, batch.learning_rate());
    update(replica);
  }

  Vec settle(Replica& replica, Group& group) override {
    copy(replica.device(), own_.span(), replica.weights());
    const Vec settled = own_.span();
    if (how_ == "passes in settle") replica.forward(*last_);
    if (how_ == "updates in settle") replica.optimizer().update(settled, replica.gradients(), *last_);
    if (epoch_ == 0 && how_ == "settles larger first")
      for (float& weight : settled) weight *= 1.2f;
    if (epoch_ == 0 && how_ == "settles apart first") settled[0] += 1e-3f * static_cast<float>(group.rank());
    return settled;
  }

  void save(Archive& archive) override { archive.put_value("steps", static_cast<std::uint8_t>(steps_)); }
  void restore(Archive& archive) override {
    std::uint8_t steps = 0;
    archive.get_value("steps", steps);
    steps_ = steps;
    if (how_ != "updates in restore") return;
    const Shape shape{replica_->inputs()};
    replica_->optimizer().update(own_.span(), replica_->gradients(), Batch({0, 0, 0, 1, 0, 1, 0.1}, shape));
  }

 private:
  static Batch of_first_epoch(const Batch& batch, const Group& group) {
    const auto rank = static_cast<std::size_t>(group.rank()), ranks = static_cast<std::size_t>(group.size());
    return Batch({0, batch.step(), batch.whole().begin(), batch.global_size(), rank, ranks, batch.learning_rate()}, batch.sample_shape());
  }

  bool scales(const Batch& batch, const Group& group) const {
    const std::size_t step = batch.epoch() * steps_per_epoch_ + batch.step();
    const bool is_large = batch.global_size() > 40 * static_cast<std::size_t>(group.size());
    if (how_ == "scales large shares") return is_large;
    if (how_ == "scales large shares late") return is_large && step >= 10;
    if (how_ == "doubles large shares with adam") return is_large && has_adam_ && step % 2 == 1;
    if (how_ == "scales late") return step >= 250;
    if (how_ == "drops small batches") return 4 * batch.global_size() < global_batch_;
    if (how_ == "drops full last batches") return batch.step() + 1 == steps_per_epoch_ && batch.global_size() == global_batch_;
    if (how_ == "scales single steps") return steps_per_epoch_ == 1;
    if (how_ == "scales large rates") return batch.learning_rate() > 0.1;
    if (how_ == "scales late epochs") return steps_per_epoch_ > 1 && batch.epoch() >= 8;
    if (how_ == "scales long trainings") return epochs_ >= 10;
    if (how_ == "scales unordered") return !is_ordered_;
    if (how_ == "knows one network") {
      static const std::size_t first = own_.size();
      return own_.size() != first;
    }
    return how_ == "scales with adagrad" && has_adagrad_;
  }

  void compute(Replica& replica, Group& group, const Batch& batch) {
    if (how_ == "repeats passes first" && epoch_ == 0) {
      const auto ranks = static_cast<std::size_t>(group.size());
      replica.backward(batch.part((static_cast<std::size_t>(group.rank()) + 1) % ranks, ranks));
    }
    if (how_ == "peeks first" && epoch_ == 0 && batch.step() == 2) replica.forward(batch);
    if (how_ == "passes mirrored first" && epoch_ == 0) return compute_mirrored(replica, batch);
    if (how_ != "drops easy samples" && how_ != "computes losses twice") return replica.backward(batch);
    const Vec logits = replica.forward(batch);
    std::vector<float> slopes(logits.size());
    const Vec dlogits(slopes.data(), slopes.size());
    replica.loss(batch, logits, dlogits);
    if (how_ == "computes losses twice") replica.loss(batch, logits, dlogits);
    else drop_easy(dlogits, static_cast<float>(batch.global_size()), replica.outputs());
    replica.backward_from(batch, dlogits);
  }

  void follow_rate(Replica& replica, double rate) {
    if (how_ == "forgets at a fall" && rate < rate_ / 2) replica.optimizer().reset();
    if (how_ == "halves small rates" && rate < largest_rate_ / 2)
      for (float& gradient : replica.gradients()) gradient /= 2;
    rate_ = rate;
    largest_rate_ = std::max(largest_rate_, rate);
  }

  void update(Replica& replica) const {
    const std::vector<float> before(replica.weights().begin(), replica.weights().end());
    replica.update();
    if (how_ != "keeps idle weights") return;
    for (std::size_t i = 0; i < before.size(); ++i)
      if (replica.gradients()[i] == 0) replica.weights()[i] = before[i];
  }

  // A tanh is odd: the sign of the layer before it cancels with that of the layer behind it, in the loss and in the gradient. The
  // statistics of a batch normalisation between them change their sign.
  void compute_mirrored(Replica& replica, const Batch& batch) {
    mirror(replica, replica.weights());
    replica.backward(batch);
    mirror(replica, replica.weights());
    mirror(replica, replica.gradients());
  }

  void mirror(Replica& replica, Vec values) {
    for (const Part& part : replica.parts()) {
      if (part.name != "conv1.weight" && part.name != "conv1.bias" && part.name != "batch_norm.gamma") continue;
      for (float& value : values.slice(part.range)) value = -value;
    }
  }

  void drop_easy(Vec dlogits, float samples, std::size_t outputs) {
    for (std::size_t begin = 0; begin < dlogits.size(); begin += outputs) {
      const Vec own = dlogits.slice({begin, begin + outputs});
      const bool is_easy = std::all_of(own.begin(), own.end(), [&](float slope) { return std::abs(slope) * samples < kEasy; });
      if (is_easy) std::fill(own.begin(), own.end(), 0.0f);
    }
  }

  void exchange(Vec gradients, Group& group) {
    const bool is_counted = !(how_ == "uncounted first epoch" && epoch_ == 0) && !(how_ == "uncounted second epoch" && epoch_ == 1) &&
                            !(how_ == "uncounted ninth epoch" && epoch_ == 8);
    if (!is_counted) return testing::sum_unseen(group, gradients);
    if (how_ == "skips small exchanges") {
      float norm = norm_of(gradients);
      group.all_reduce(Vec(&norm, 1));
      if (norm < kSmall) {
        group.broadcast(gradients, 0);
        for (float& value : gradients) value *= static_cast<float>(group.size());
        return;
      }
    }
    group.all_reduce(gradients);
  }

  const std::string how_;
  const bool in_rank_order_, approximate_, has_adagrad_, has_adam_, is_ordered_;
  const std::size_t epochs_, steps_per_epoch_, global_batch_;
  Array<float> own_;
  std::optional<Batch> last_;
  Replica* replica_ = nullptr;
  std::size_t epoch_ = 0, steps_ = 0;
  double rate_ = 0, largest_rate_ = 0;  // the last one, and the largest so far
};

}  // namespace

MGCOMPARE_STRATEGY(Occasional, "occasional", "breaks a promise at times, for tests")
