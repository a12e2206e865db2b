// Breaks one promise, which `how` names, and keeps the others. `verify` and the run must detect each.
//
// Without a lie it sums gradients over the ranks and updates every copy, which is exact. Its own arithmetic runs on the host:
// for CPU devices only.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "board.h"
#include "leftovers.h"
#include "lies.h"
#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

constexpr std::size_t kSkipEvery = 7;
constexpr std::size_t kAverageEvery = 4;

// The loader has one of them for all libraries that have it.
inline __attribute__((visibility("default"))) std::array<std::vector<float>, 64> unique_velocities;

class Liar : public Strategy {
 public:
  Liar(Options& options, const Facts& facts)
      : how_(options.choice("how", "nothing", "the promise that it breaks", testing::lies())),
        where_(options.choice("where", "step", "the call in which it crashes or hangs",
                              {"construct", "traits", "start", "step", "settle", "save", "restore"})),
        step_(static_cast<std::size_t>(options.integer("step", 40, "the first step with noise, a crash or a deadlock", 0))),
        approximate_(options.flag("approximate", false, "promises approximate weights in place of exact ones")),
        ranks_(static_cast<int>(options.integer("ranks", 0, "the only number of ranks; 0: any", 0))), facts_(facts) {
    fail_in("construct");
  }

  Traits traits() const override {
    fail_in("traits");
    Traits traits;
    static std::atomic<int> asked{0};
    const bool changes = (how_ == "changes traits" && started_) || (how_ == "changes traits later" && ++asked % 5 == 0);
    traits.promise = approximate_ != changes ? Traits::Promise::approximate : Traits::Promise::exact;
    traits.devices = {DeviceKind::cpu};
    if (how_ == "impossible traits") traits.most_ranks = 0;
    if (how_ == "meets at free pace") traits.pace = Traits::Pace::free;
    traits.one_host = how_ == "uncounted exchange" || how_ == "hidden exchange";
    if (ranks_ > 0) traits.least_ranks = traits.most_ranks = ranks_;
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    fail_in("start", group.rank());
    if (group.rank() == 0) leftovers_.start(how_);
    if (how_ == "no save") master_.assign(replica.weights().begin(), replica.weights().end());
    weights_ = replica.weights();
    own_ = device_array<float>(replica.device(), replica.weights().size());
    if (how_ == "starts ahead") replica.weights()[0] += 0.1f;
    if (how_ == "starts with statistics" && replica.buffers().size() > 0) replica.buffers()[0] += 0.1f;
    buffers_ = replica.buffers();
    velocity_.resize(weights_.size());
    started_ = true;
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    if (steps_ == step_) fail_in("step", group.rank());
    if (how_ == "warms up ahead" && steps_ == 0) std::copy(warmed_of(group.rank()).begin(), warmed_of(group.rank()).end(), weights_.begin());
    if (trains_apart()) step_apart(replica, group, batch);
    else step_together(replica, group, batch);
    ++steps_;
    if (how_ == "warms up ahead" && batch.epoch() > 0) warmed_of(group.rank()).clear();
    else if (how_ == "warms up ahead" && !settled_) warmed_of(group.rank()).assign(weights_.begin(), weights_.end());
  }

  Vec settle(Replica& replica, Group& group) override {
    fail_in("settle", group.rank());
    settled_ = true;
    if (how_ == "warms up ahead") warmed_of(group.rank()).clear();
    const Vec weights = replica.weights();
    if (how_ == "settle scales weights")
      for (float& weight : weights) weight *= 0.999f;
    if (how_ == "settle averages weights") average(group, weights);
    if (how_ == "settle exchanges last") {
      exchange_late(replica, group);
      return weights;
    }
    if (how_ == "settle averages ahead") {
      copy(replica.device(), own_.span(), weights);
      average(group, own_);
      is_ahead_ = true;
      return own_;
    }
    if (how_ == "settle clears statistics") std::fill(replica.buffers().begin(), replica.buffers().end(), 0.0f);
    if (how_ == "settle averages statistics") average(group, replica.buffers());
    const bool is_within = how_ == "settles within epochs" && steps_ % facts_.steps_per_epoch != 0;
    if (how_ != "trains apart" && how_ != "trains apart noisily" && !is_within) return weights;
    copy(replica.device(), own_.span(), weights);
    if (is_within) for (float& weight : own_.span()) weight *= 1.5f;
    else group.broadcast(own_.span(), 0);
    return own_;
  }

  void save(Archive& archive) override {
    fail_in("save");
    archive.put_value("restored", restored_);
    if (how_ == "saves an address") archive.put_value("velocity", new std::vector<float>(velocity_));
    if (saves_velocity()) archive.put_host("velocity", Vec(velocity_.data(), velocity_.size()));
    if (how_ != "save scales weights") return;
    for (float& weight : weights_) weight *= 0.9f;
  }
  void restore(Archive& archive) override {
    fail_in("restore");
    archive.get_value("restored", restored_);
    if (how_ == "saves an address") {
      const std::vector<float>* saved = nullptr;
      archive.get_value("velocity", saved);
      velocity_ = *saved;
    }
    if (saves_velocity()) archive.get_host("velocity", Vec(velocity_.data(), velocity_.size()));
    if (how_ == "restores statistics" && buffers_.size() > 0) buffers_[0] += 0.1f;
    if (++restored_ != 2 || how_ != "restores once") return;
    for (float& weight : weights_) weight *= 0.9f;
  }

 private:
  bool saves_velocity() const { return how_ == "saves on one host" && facts_.hosts == 1; }
  bool trains_apart() const {
    return how_ == "trains apart" || how_ == "trains apart noisily" || how_ == "settle averages weights" ||
           how_ == "settle averages ahead";
  }

  void step_apart(Replica& replica, Group& group, const Batch& batch) {
    if (how_ == "settle averages ahead") {
      if (is_ahead_) copy(replica.device(), replica.weights(), own_.span());
      else average(group, replica.weights());
      is_ahead_ = false;
    }
    replica.backward(batch, Scale::own_share);
    replica.update();
    if (how_ == "trains apart noisily") group.all_reduce(own_.span().slice({0, 1}));
    if (how_ == "settle averages weights" && (steps_ + 1) % kAverageEvery == 0) average(group, replica.weights());
  }

  // With an exchange that changes nothing.
  void step_alone(Replica& replica, Group& group, const Batch& batch) {
    replica.backward(batch.whole());
    group.broadcast(replica.gradients(), 0);
    replica.update();
  }

  void step_together(Replica& replica, Group& group, const Batch& batch) {
    if (skips_half() && steps_ % 2 == 1) return skip(replica, batch);
    const Vec gradients = replica.gradients();
    if (how_ == "accumulates") return accumulate(replica, group, batch, gradients);
    if (how_ == "no save") std::copy(master_.begin(), master_.end(), replica.weights().begin());
    if (how_ == "whole batch") return step_alone(replica, group, batch);
    if (how_ == "settle exchanges last") {
      exchange_late(replica, group);
      late_ = batch;
      replica.backward(batch);
      const bool is_last = (batch.step() + 1) % facts_.steps_per_epoch == 0;
      if (!is_last) exchange_late(replica, group);
      return;
    }
    if (how_ == "scales statistics") {
      bool is_first = true;
      replica.backward(batch, [&](Vec) {
        if (std::exchange(is_first, false))
          for (float& value : replica.buffers()) value *= 1.5f;
      }, Scale::global_batch);
      group.all_reduce(gradients);
      return replica.update();
    }
    if (how_ == "dropped sample") learn_without_last(replica, batch);
    else replica.backward(learned_instead_of(batch), how_ == "mean of means" ? Scale::own_share : Scale::global_batch);
    const std::size_t learned_epochs = how_ == "ignores ranks later" ? 1 : how_ == "ignores ranks late" ? 2 : batch.epoch() + 1;
    if (group.rank() > 0 && batch.epoch() >= learned_epochs) std::fill(gradients.begin(), gradients.end(), 0.0f);
    if (how_ == "ignores hosts" && group.rank() >= facts_.ranks / facts_.hosts) std::fill(gradients.begin(), gradients.end(), 0.0f);
    if (ignores_ranks_in(batch) && group.rank() > 0) std::fill(gradients.begin(), gradients.end(), 0.0f);
    if (how_ == "ignores a rank" && group.rank() > 0 && group.rank() == group.size() - 1)
      std::fill(gradients.begin(), gradients.end(), 0.0f);
    if (how_ == "hidden exchange" && steps_ == 0) group.broadcast(Span<std::uint8_t>(&byte_, 1), 0);
    if (how_ == "uncounted exchange" || how_ == "hidden exchange") testing::sum_unseen(group, gradients);
    else if (how_ != "skipped exchange" || (steps_ + 1) % kSkipEvery != 0) group.all_reduce(gradients);
    if (how_ == "mean of means")
      for (float& gradient : gradients) gradient /= static_cast<float>(group.size());
    if (how_ == "scaled gradients")
      for (float& gradient : gradients) gradient *= 1.01f;
    if (how_ == "saves an address" || how_ == "saves on one host") add_momentum(velocity_, batch, gradients);
    if (how_ == "noise of the process") add_noise(gradients, Random(static_cast<std::uint64_t>(getpid()), 1000 * batch.epoch() + batch.step()));
    if (how_ == "freezes a draw" || how_ == "freezes an option") {
      auto drawn = static_cast<float>(replica.random(5).below(0, 1 << 20));
      group.broadcast(Vec(&drawn, 1), 0);
      static const float first = drawn;
      static const std::size_t first_step = step_;
      const std::size_t step = batch.epoch() * facts_.steps_per_epoch + batch.step();
      if (how_ == "freezes a draw") add_noise(gradients, Random(static_cast<std::uint64_t>(first), step));
      else if (step >= first_step) add_noise(gradients, Random(1, step));
    }
    if (how_ == "unique no save") add_momentum(unique_velocities.at(static_cast<std::size_t>(group.rank())), batch, gradients);
    if (how_ == "static no save") add_momentum(velocity_of(group.rank()), batch, gradients);
    if (how_ == "late noise" && steps_ >= step_) add_noise(gradients, Random(1, steps_));
    if (!first_ || (how_ == "largest rate" && batch.learning_rate() > first_->learning_rate())) first_ = batch;
    if (how_ == "first rate" || how_ == "largest rate") replica.optimizer().update(replica.weights(), gradients, *first_);
    else if (how_ == "freezes a layer") replica.update({replica.parts()[0].range.end, gradients.size()});
    else replica.update();
    if (how_ == "no save") master_.assign(replica.weights().begin(), replica.weights().end());
    exchange_statistics(replica, group);
  }

  void exchange_late(Replica& replica, Group& group) {
    if (!late_) return;
    group.all_reduce(replica.gradients());
    replica.optimizer().update(replica.weights(), replica.gradients(), *late_);
    late_.reset();
  }

  const Batch& learned_instead_of(const Batch& batch) {
    if (how_ != "repeats samples") return batch;
    if (batch.step() == 0) first_ = batch;
    return first_->global_size() == batch.global_size() ? *first_ : batch;
  }

  bool ignores_ranks_in(const Batch& batch) const {
    const std::size_t left = facts_.steps_per_epoch - batch.step();
    return (how_ == "ignores ranks first" && batch.step() == 0) || (how_ == "ignores ranks last" && left == 2) ||
           (how_ == "ignores short batches" && left == 1);
  }

  // One for each rank. They outlive trainings.
  using Kept = std::array<std::vector<float>, 64>;
  static std::vector<float>& velocity_of(int rank) {
    static Kept all;
    return all.at(static_cast<std::size_t>(rank));
  }
  static std::vector<float>& warmed_of(int rank) {
    static Kept all;
    return all.at(static_cast<std::size_t>(rank));
  }

  static void add_momentum(std::vector<float>& velocity, const Batch& batch, Vec gradients) {
    if (batch.epoch() == 0 && batch.step() == 0) velocity.clear();
    velocity.resize(gradients.size());
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = velocity[i] = 0.5f * velocity[i] + gradients[i];
  }

  void accumulate(Replica& replica, Group& group, const Batch& batch, Vec gradients) {
    replica.backward(batch);
    for (std::size_t i = 0; i < gradients.size(); ++i) own_[i] += gradients[i];
    if (steps_ % 2 == 0) return;
    group.all_reduce(own_.span());
    replica.optimizer().update(replica.weights(), own_.span(), batch);
    replica.device().zero(own_.data(), own_.span().bytes());
  }

  bool skips_half() const { return how_ == "skips updates" || how_ == "skips passes"; }

  // All samples of the batch count as trained.
  void skip(Replica& replica, const Batch& batch) {
    if (how_ == "skips updates") return replica.backward(batch);
    const Vec logits = replica.forward(batch);
    std::vector<float> slopes(logits.size());
    replica.loss(batch, logits, Vec(slopes.data(), slopes.size()));
  }

  void exchange_statistics(Replica& replica, Group& group) const {
    if (how_ == "sums statistics") group.all_reduce(replica.buffers());
    if (how_ == "averages statistics") average(group, replica.buffers());
    if (how_ == "broadcasts statistics") group.broadcast(replica.buffers(), 0);
  }

  // The scale is as if the sample had been there.
  void learn_without_last(Replica& replica, const Batch& batch) const {
    const std::size_t kept = batch.size() > 0 ? batch.size() - 1 : 0;
    replica.backward(Batch({batch.epoch(), batch.step(), batch.begin(), kept, 0, 1, batch.learning_rate()}, batch.sample_shape()));
    const float factor = static_cast<float>(kept) / static_cast<float>(batch.global_size());
    for (float& gradient : replica.gradients()) gradient *= factor;
  }

  // The same on all ranks, so that the copies stay equal.
  static void add_noise(Vec gradients, const Random& random) {
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] += 1e-4f * (2 * random.uniform(i) - 1);
  }

  static void average(Group& group, Vec values) {
    group.all_reduce(values);
    for (float& value : values) value /= static_cast<float>(group.size());
  }

  // On the last rank, while the others go on. Before there are ranks: always.
  void fail_in(const char* call, int rank = -1) const {
    if (where_ != call || (how_ != "crash" && how_ != "deadlock")) return;
    if (rank != -1 && rank != facts_.ranks - 1) return;
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would catch the signal
    if (how_ == "crash") std::raise(SIGSEGV);
    for (;;) pause();
  }

  std::string how_, where_;
  std::size_t step_;
  bool approximate_;
  int ranks_;
  Facts facts_;
  std::size_t steps_ = 0;
  int restored_ = 0;                // times in this training
  bool started_ = false;
  bool settled_ = false, is_ahead_ = false;
  Vec weights_, buffers_;
  std::optional<Batch> late_;       // whose gradients are still to be summed
  std::uint8_t byte_ = 0;
  std::optional<Batch> first_;
  std::vector<float> velocity_;
  std::vector<float> master_;  // the weights, of which the replica's are a copy; with "no save"
  Array<float> own_;
  testing::Leftovers leftovers_;
};

}  // namespace

MGCOMPARE_STRATEGY(Liar, "liar", "wrong on purpose: claims to be exact and breaks the promise that `how` names")
