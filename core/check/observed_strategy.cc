#include "check/observed_strategy.h"

#include <algorithm>

#include "measure/processor_time.h"
#include "mgcompare/random.h"

namespace mgcompare {
namespace {

constexpr std::size_t kSettleEvery = 4;     // steps, on average

std::vector<float> on_host(Device& device, ConstVec vector) {
  std::vector<float> values(vector.size());
  copy_to_host(device, Vec(values.data(), values.size()), vector);
  device.synchronize();
  return values;
}

class ObservedStrategy : public Strategy {
 public:
  ObservedStrategy(std::unique_ptr<Strategy> inner, const Disturbance& disturbance, Observation& observation)
      : inner_(std::move(inner)), disturbance_(disturbance), observation_(observation), epoch_(disturbance.first_epoch) {}

  // On the thread of its rank, if it was started.
  ~ObservedStrategy() override {
    inner_.reset();
    if (mine_ != nullptr) mine_->processor_seconds = thread_seconds();
  }

  Traits traits() const override { return inner_->traits(); }

  void start(Replica& replica, Group& group) override {
    mine_ = &observation_.ranks[static_cast<std::size_t>(group.rank())];
    lockstep_ = traits().pace == Traits::Pace::lockstep;
    inner_->start(replica, group);
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    mine_->first_epoch = std::min(mine_->first_epoch, batch.epoch());
    inner_->step(replica, group, group.rank() == disturbance_.altered_rank ? altered(batch, group) : batch);
    if (disturbance_.settles && lockstep_ && settles_after(batch)) inner_->settle(replica, group);
  }

  void rest(Replica& replica, Group& group) override { inner_->rest(replica, group); }

  Vec settle(Replica& replica, Group& group) override {
    Device& device = replica.device();
    mine_->live = on_host(device, replica.weights());
    const std::size_t epoch = epoch_++;
    if (!disturbance_.settles) return inner_->settle(replica, group);
    if (epoch == disturbance_.unsettled) return replica.weights();
    const std::vector<float> first = on_host(device, inner_->settle(replica, group));
    const Vec second = inner_->settle(replica, group);
    mine_->settles_alike = mine_->settles_alike && on_host(device, second) == first;
    return second;
  }

  void save(Archive& archive) override { inner_->save(archive); }
  void restore(Archive& archive) override { inner_->restore(archive); }

 private:
  // The same decision on all ranks.
  bool settles_after(const Batch& batch) const {
    return Random(disturbance_.seed, batch.epoch()).below(batch.step(), kSettleEvery) == 0;
  }

  // As many samples, from the mirrored place in the order of the epoch.
  Batch altered(const Batch& batch, const Group& group) const {
    const std::size_t begin = disturbance_.samples - batch.whole().begin() - batch.global_size();
    const auto rank = lockstep_ ? static_cast<std::size_t>(group.rank()) : 0, ranks = lockstep_ ? static_cast<std::size_t>(group.size()) : 1;
    return Batch({batch.epoch(), batch.step(), begin, batch.global_size(), rank, ranks, batch.learning_rate()}, batch.sample_shape());
  }

  std::unique_ptr<Strategy> inner_;
  const Disturbance disturbance_;
  Observation& observation_;
  Observation::OfRank* mine_ = nullptr;
  bool lockstep_ = true;
  std::size_t epoch_;               // that ends with the next settle()
};

}  // namespace

std::unique_ptr<Strategy> observed(std::unique_ptr<Strategy> strategy, const Disturbance& disturbance,
                                   Observation& observation) {
  return std::make_unique<ObservedStrategy>(std::move(strategy), disturbance, observation);
}

}  // namespace mgcompare
