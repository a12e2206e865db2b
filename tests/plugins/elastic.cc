// Elastic averaging at free pace: each rank trains a model of its own, which every fourth step draws to a common centre. `how` names its lie, which
// it tells in real time only, where gradients are applied as they are computed. For CPU devices only.

#include <cstddef>
#include <memory>
#include <string>

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

constexpr std::size_t kEvery = 4;   // steps from one meeting to the next
constexpr float kPull = 0.4f;       // of the distance

// Of all ranks. Only in exclusive sections.
struct Centre {
  Array<float> weights;
};

class Elastic : public Strategy {
 public:
  Elastic(Options& options, const Facts& facts)
      : how_(options.choice("how", "nothing", "what is wrong in real time",
                            {"nothing",
                             "apart",       // only the first rank meets the centre
                             "apart later", // the same, from the second epoch on
                             "noise"})),    // the same, and the centre gets noise in place of the others
        lies_(!facts.ordered && facts.ranks > 1), alone_(facts.ranks == 1) {}

  Traits traits() const override {
    Traits traits;
    traits.pace = Traits::Pace::free;
    traits.devices = {DeviceKind::cpu};
    traits.one_host = true;
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    Device& device = replica.device();
    rank_ = group.rank();
    centre_ = &group.shared<Centre>([&] {
      auto centre = std::make_unique<Centre>();
      centre->weights = host_array<float>(device, replica.weights().size());
      copy_to_host(device, centre->weights.span(), replica.weights());
      return centre;
    });
    own_ = host_array<float>(device, replica.weights().size());
    settled_ = device_array<float>(device, replica.weights().size());
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    replica.backward(batch, Scale::own_share);
    replica.update();
    if (++steps_ % kEvery == 0 && !alone_) group.exclusive(0, [&] { meet(replica, batch); });
  }

  Vec settle(Replica& replica, Group&) override {
    if (alone_) return replica.weights();
    copy_to_device(replica.device(), settled_.span(), centre_->weights.span());
    return settled_;
  }

  void save(Archive& archive) override {
    archive.put_value("steps", steps_);
    if (rank_ == 0) archive.put_host("centre", centre_->weights.span());
  }
  void restore(Archive& archive) override {
    archive.get_value("steps", steps_);
    if (rank_ == 0) archive.get_host("centre", centre_->weights.span());
  }

 private:
  void meet(Replica& replica, const Batch& batch) {
    copy_to_host(replica.device(), own_.span(), replica.weights());
    const Vec own = own_.span(), centre = centre_->weights.span();
    const bool stays_away = lies_ && rank_ > 0 && how_ != "nothing" && (how_ != "apart later" || batch.epoch() > 0);
    const Random random = replica.random(steps_);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const float pull = kPull * (own[i] - centre[i]);
      if (!stays_away) {
        own[i] -= pull;
        centre[i] += pull;
      } else if (how_ == "noise") {
        centre[i] += 1e-4f * (random.uniform(i) - 0.5f);
      }
    }
    copy_to_device(replica.device(), replica.weights(), own_.span());
  }

  const std::string how_;
  const bool lies_, alone_;
  int rank_ = 0;
  std::size_t steps_ = 0;
  Centre* centre_ = nullptr;
  Array<float> own_, settled_;
};

}  // namespace

MGCOMPARE_STRATEGY(Elastic, "elastic", "elastic averaging at free pace, for tests")
