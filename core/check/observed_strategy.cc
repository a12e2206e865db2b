#include "check/observed_strategy.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <thread>

#include "check/observed_replica.h"
#include "check/other_samples.h"
#include "check/weight_difference.h"
#include "data/order.h"
#include "measure/processor_time.h"
#include "measure/step_clock.h"
#include "mgcompare/random.h"
#include "runtime/rank_group.h"
#include "runtime/rank_replica.h"

namespace mgcompare {
namespace {

constexpr std::size_t kSettleEvery = 4;     // steps, on average
constexpr std::size_t kBlankEpoch = 1, kBlankStep = 1;  // momentum has begun

std::size_t hash_of(const std::vector<float>& values) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

// That the strategy of this rank has sent in this epoch, without the network's own exchange.
double bytes_of(Replica& replica, Group& group) {
  const RankGroup& own = dynamic_cast<RankGroup&>(group);
  return static_cast<double>(own.bytes() - own.network_bytes() + dynamic_cast<RankReplica&>(replica).meter().bytes());
}

// Sets a figure to the processor time of the calling thread when that ends: ranks also take down what the program made for them.
class TimeAtExit {
 public:
  ~TimeAtExit() {
    if (seconds_ != nullptr) *seconds_ = thread_seconds();
  }
  void set(double& seconds) { seconds_ = &seconds; }

 private:
  double* seconds_ = nullptr;
};

thread_local TimeAtExit time_at_exit;

class ObservedStrategy : public Strategy {
 public:
  ObservedStrategy(std::unique_ptr<Strategy> inner, const Disturbance& disturbance, Observation& observation)
      : inner_(std::move(inner)), disturbance_(disturbance), observation_(observation), epoch_(disturbance.first_epoch) {}

  // On the thread of its rank, if it was started.
  ~ObservedStrategy() override {
    inner_.reset();
    // Where a training fails, another thread may destroy it.
    if (mine_ != nullptr && thread_ == std::this_thread::get_id()) time_at_exit.set(mine_->processor_seconds);
  }

  Traits traits() const override { return inner_->traits(); }

  void start(Replica& replica, Group& group) override {
    rank_ = static_cast<std::size_t>(group.rank());
    mine_ = &observation_.ranks[rank_];
    thread_ = std::this_thread::get_id();
    lockstep_ = traits().pace == Traits::Pace::lockstep;
    shown_ = std::make_unique<ObservedReplica>(replica, [this](const auto& before, const auto& after) {
      if (BufferWatch* const watch = observation_.buffers.get()) watch->pass(rank_, before, after);
    });
    inner_->start(shown(replica), group);
    mine_->samples_before_steps = dynamic_cast<RankReplica&>(replica).learned().computed;
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    begin(replica);
    mine_->first_epoch = std::min(mine_->first_epoch, batch.epoch());
    const double bytes = bytes_of(replica, group);
    alter(replica, batch);
    blank(replica, batch);
    mark(replica, batch);
    inner_->step(shown(replica), group, batch);
    const double sent = bytes_of(replica, group) - bytes;
    mine_->bytes += sent;
    if (lockstep_) mine_->sent[{batch.epoch(), batch.step()}] = sent;
    ++mine_->steps;
    ++steps_in_epoch_;
    if (lockstep_ && observation_.buffers) observation_.buffers->end_step(rank_);
    if ((disturbance_.settles || disturbance_.keeps_weights) && lockstep_ && settles_after(batch)) settle_within(replica, group, batch);
  }

  void rest(Replica& replica, Group& group) override {
    begin(replica);
    const double bytes = bytes_of(replica, group);
    inner_->rest(shown(replica), group);
    mine_->bytes += bytes_of(replica, group) - bytes;
  }

  Vec settle(Replica& replica, Group& group) override {
    begin(replica);
    Device& device = replica.device();
    mine_->live = on_host(device, replica.weights());
    const std::size_t epoch = epoch_++;
    const RankReplica& own = dynamic_cast<RankReplica&>(replica);
    mine_->epochs.push_back({epoch, hash_of(mine_->live), 0, {}, {}, own.seen(), own.learned().only_passed()});
    steps_in_epoch_ = 0;
    if (disturbance_.settles && epoch == disturbance_.unsettled) return replica.weights();
    Vec weights = settled(replica, group);
    const std::vector<float> first = on_host(device, weights);
    mine_->epochs.back().settled = hash_of(first);
    if ((disturbance_.keeps_weights && rank_ == 0) || departs(epoch, first)) mine_->epochs.back().weights = first;
    if (rank_ == 0) mine_->epochs.back().buffers = on_host(device, replica.buffers());
    if (disturbance_.settles) {
      weights = settled(replica, group);
      mine_->settles_alike = mine_->settles_alike && on_host(device, weights) == first;
    }
    if (observation_.buffers) observation_.buffers->judge(rank_, on_host(device, replica.buffers()));
    return weights;
  }

  void save(Archive& archive) override { inner_->save(archive); }
  void restore(Archive& archive) override { inner_->restore(archive); }

 private:
  // What the strategy sees. Steps that are captured for replays cannot be watched.
  Replica& shown(Replica& replica) { return observation_.buffers == nullptr ? replica : *shown_; }

  // Before the first call behind start() and restore().
  void begin(Replica& replica) {
    if (begun_ || observation_.buffers == nullptr) return;
    begun_ = true;
    observation_.buffers->begin(on_host(replica.device(), replica.buffers()));
  }

  Vec settled(Replica& replica, Group& group) {
    const std::vector<float> before = on_host(replica.device(), replica.buffers());
    // Also between two steps, so that a crash there is told as one in settle().
    const Vec weights = [&] {
      const StepClock::PhaseScope in(Phase::strategy, "settle");
      return inner_->settle(shown(replica), group);
    }();
    mine_->keeps_buffers = mine_->keeps_buffers && on_host(replica.device(), replica.buffers()) == before;
    return weights;
  }

  void settle_within(Replica& replica, Group& group, const Batch& batch) {
    std::vector<float> weights = on_host(replica.device(), settled(replica, group));
    const bool is_kept = disturbance_.keeps_weights && rank_ == 0;
    if (is_kept || departs_within(batch, weights)) mine_->within[{batch.epoch(), batch.step()}] = std::move(weights);
  }

  bool knows_settled() const { return disturbance_.settled != nullptr && (rank_ == 0 || traits().models == Traits::Models::one); }

  bool departs(std::size_t epoch, const std::vector<float>& settled) const {
    return knows_settled() && largest_difference(disturbance_.settled->at(epoch).weights, settled) > disturbance_.limit;
  }

  bool departs_within(const Batch& batch, const std::vector<float>& settled) const {
    if (!knows_settled()) return false;
    const auto& within = disturbance_.settled->at(batch.epoch()).within;
    const auto expected = within.find(batch.step());
    return expected != within.end() && largest_difference(expected->second, settled) > disturbance_.limit;
  }

  // The same decision on all ranks.
  bool settles_after(const Batch& batch) const {
    return Random(disturbance_.seed, batch.epoch()).below(batch.step(), kSettleEvery) == 0;
  }

  // In the step of the alteration, another sample in place of one of a rank's. In lockstep all ranks know of it: one of them may read the samples of
  // others, to send them.
  void alter(Replica& replica, const Batch& batch) {
    const std::optional<Alteration>& alteration = disturbance_.alteration;
    if (!alteration || alteration->epoch != epoch_ || alteration->step != steps_in_epoch_) return;
    const bool is_mine = alteration->rank == static_cast<int>(rank_);
    if (!is_mine && !lockstep_) return;
    const Batch share = is_mine ? batch : batch.whole().part(static_cast<std::size_t>(alteration->rank), observation_.ranks.size());
    if (share.size() == 0) return;
    const auto place = static_cast<std::size_t>(alteration->place * static_cast<double>(share.size()));
    const auto order = order_with_other(*disturbance_.samples, disturbance_.seed, epoch_, share.begin() + std::min(place, share.size() - 1));
    if (!order) return;
    give_order(replica, *order);
    mine_->was_altered = is_mine;
  }

  // In the step of the blank batch, one sample in place of all.
  void blank(Replica& replica, const Batch& batch) const {
    if (!disturbance_.blank || epoch_ != kBlankEpoch || steps_in_epoch_ != kBlankStep) return;
    std::vector<std::uint32_t> order = epoch_order(disturbance_.samples->samples, disturbance_.seed, epoch_);
    // The samples of all ranks: one of them may read those of others. Batches before it are as large.
    std::fill_n(order.begin() + static_cast<std::ptrdiff_t>(kBlankStep * batch.global_size()), batch.global_size(), *disturbance_.blank);
    give_order(replica, order);
  }

  void mark(Replica& replica, const Batch& batch) {
    const MarkedSamples* const marks = disturbance_.marks;
    if (marks == nullptr) return;
    observation_.even->step(rank_);
    const std::size_t part = marks->part(batch.epoch(), steps_in_epoch_);
    give_order(replica, marks->order(rank_, part));
    mine_->marked.resize(marks->judged_parts() + 1);
    if (batch.learning_rate() > 0) ++mine_->marked[part];
  }

  // For the rest of the epoch: the next one has an order of its own.
  static void give_order(Replica& replica, const std::vector<std::uint32_t>& order) {
    dynamic_cast<RankReplica&>(replica).feed().set_order({order.data(), order.size()});
  }

  std::unique_ptr<Strategy> inner_;
  const Disturbance disturbance_;
  Observation& observation_;
  Observation::OfRank* mine_ = nullptr;
  std::thread::id thread_;          // that of its rank
  std::unique_ptr<ObservedReplica> shown_;
  std::size_t rank_ = 0;
  bool lockstep_ = true, begun_ = false;
  std::size_t epoch_;               // that ends with the next settle()
  std::size_t steps_in_epoch_ = 0;  // made
};

}  // namespace

void Observation::append(Observation more) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    OfRank &rank = ranks[i], &other = more.ranks[i];
    rank.live = std::move(other.live);
    std::move(other.epochs.begin(), other.epochs.end(), std::back_inserter(rank.epochs));
    rank.settles_alike = rank.settles_alike && other.settles_alike;
    rank.keeps_buffers = rank.keeps_buffers && other.keeps_buffers;
    rank.was_altered = rank.was_altered || other.was_altered;
    rank.first_epoch = std::min(rank.first_epoch, other.first_epoch);
    rank.steps += other.steps;
    rank.samples_before_steps += other.samples_before_steps;
    rank.bytes += other.bytes;
    rank.sent.merge(other.sent);
    rank.within.merge(other.within);
    rank.processor_seconds += other.processor_seconds;
  }
  if (buffers && more.buffers->largest_excess() > buffers->largest_excess()) buffers = std::move(more.buffers);
}

std::unique_ptr<Strategy> observed(std::unique_ptr<Strategy> strategy, const Disturbance& disturbance,
                                   Observation& observation) {
  return std::make_unique<ObservedStrategy>(std::move(strategy), disturbance, observation);
}

}  // namespace mgcompare
