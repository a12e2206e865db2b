// Treats the shares of the ranks unequally or beside its promise, as `how` names it, or adds them in any order, which is honest. For CPU devices only.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

class Shares : public Strategy {
 public:
  Shares(Options& options, const Facts& facts)
      : how_(options.choice("how", "any order", "what is wrong",
                            {"any order",              // honest: another order of summation in each step, as if timing decided it
                             "five of six",            // ranks: of six, the last one's samples are lost
                             "first half",             // approximate: learns from the first half of each share
                             "last half",              // likewise
                             "ceiling"})),             // many models, but their gradients are summed
        many_(facts.ranks > 1) {}

  Traits traits() const override {
    Traits traits;
    if (how_ == "ceiling") {
      traits.role = Traits::Role::ceiling;
      traits.models = Traits::Models::many;
    } else if (!learns_half()) {
      traits.promise = Traits::Promise::exact;
    }
    traits.devices = {DeviceKind::cpu};
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    all_ = device_array<float>(replica.device(), replica.weights().size() * static_cast<std::size_t>(group.size()));
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    const Vec gradients = replica.gradients();
    if (learns_half() && many_) learn_half(replica, batch);
    else replica.backward(batch);
    if (how_ == "five of six" && group.size() == 6)
      for (float& gradient : gradients) gradient *= group.rank() == 5 ? 0.0f : 1.2f;
    if (how_ == "any order") add_in_any_order(group, gradients);
    else group.all_reduce(gradients);
    replica.update();
  }

 private:
  bool learns_half() const { return how_ == "first half" || how_ == "last half"; }

  void learn_half(Replica& replica, const Batch& batch) const {
    const Vec logits = replica.forward(batch);
    std::vector<float> slopes(logits.size());
    replica.loss(batch, logits, Vec(slopes.data(), slopes.size()));
    const std::size_t half = batch.size() / 2;
    if (how_ == "first half") std::fill_n(slopes.rbegin(), half * replica.outputs(), 0.0f);
    else std::fill_n(slopes.begin(), half * replica.outputs(), 0.0f);
    replica.backward_from(batch, ConstVec(slopes.data(), slopes.size()));
  }

  void add_in_any_order(Group& group, Vec gradients) {
    const auto ranks = static_cast<std::size_t>(group.size());
    group.gather(gradients, all_.span(), 0);
    if (group.rank() == 0) {
      static std::atomic<std::uint64_t> turn{0};
      const std::size_t first = Random(static_cast<std::uint64_t>(getpid()), 1).below(turn++, ranks);
      std::fill(gradients.begin(), gradients.end(), 0.0f);
      for (std::size_t k = 0; k < ranks; ++k) {
        const std::size_t begin = (first + k) % ranks * gradients.size();
        for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] += all_[begin + i];
      }
    }
    group.broadcast(gradients, 0);
  }

  const std::string how_;
  const bool many_;
  Array<float> all_;
};

}  // namespace

MGCOMPARE_STRATEGY(Shares, "shares", "unequal shares or any order, for tests")
