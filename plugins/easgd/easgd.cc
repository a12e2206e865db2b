// Elastic averaging SGD (Zhang, Choromanska, LeCun: arXiv 1412.6651). Each rank trains its own model. Every few steps the
// rank's model and a common centre move towards each other by a fraction of their distance. The centre is evaluated.
// README.md has the formulas, the options and their costs.

#include <algorithm>
#include <cmath>
#include <string>

#include "elastic.h"
#include "mgcompare/arithmetic.h"
#include "mgcompare/strategy.h"

namespace easgd {
namespace {

using namespace mgcompare;

constexpr std::size_t kCentre = 0;         // the stripe that guards the centre
constexpr std::uint32_t kSegment = 1024;   // elements of one partial sum of squares

class Easgd : public Strategy {
 public:
  Easgd(Options& options, const Facts& facts)
      : free_(options.choice("pace", "free", "free: a rank meets the centre by itself; lockstep: all at once",
                             {"free", "lockstep"}) == "free"),
        every_(static_cast<std::size_t>(options.integer("every", 10, "steps from one meeting to the next", 1))),
        alpha_(static_cast<float>(options.number_or_auto("alpha", "the share of its distance to the centre that a rank gives up; auto: 0.9 / ranks", 0, 1)
                                      .value_or(0.9 / facts.ranks))),
        plain_(options.choice("momentum", "local", "of sgd: each rank's own, or none", {"local", "none"}) == "none"),
        // One rank has nothing to average with, but an explicit alpha is respected.
        alone_(facts.ranks == 1 && !options.given("alpha")) {
    if (!free_ && facts.ranks * static_cast<double>(alpha_) > 1)
      options.refuse("alpha", "times " + std::to_string(facts.ranks) + " ranks is over 1, the centre would overshoot: in lockstep at most " +
                                  std::to_string(1.0 / facts.ranks).substr(0, 5));
    if (options.given("every") && every_ > facts.steps_per_epoch && facts.steps_per_epoch > 0)
      options.refuse("every", "is longer than the epoch of " + std::to_string(facts.steps_per_epoch) + " steps: at most " + std::to_string(facts.steps_per_epoch));
  }

  Traits traits() const override {
    Traits traits;
    traits.pace = free_ ? Traits::Pace::free : Traits::Pace::lockstep;
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    Device& device = replica.device();
    const std::size_t n = replica.weights().size();
    optimizer_ = replica.device_optimizer(plain_);
    rank_ = group.rank();
    if (alone_) return;
    centre_ = device_array<float>(device, n);
    pull_ = device_array<float>(device, n);
    copy(device, centre_.span(), replica.weights());
    std::vector<Segment> segments;
    for (std::size_t begin = 0; begin < n; begin += kSegment)
      segments.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(std::min<std::size_t>(kSegment, n - begin)), 1});
    segments_ = device_array<Segment>(device, segments.size());
    squares_ = device_array<float>(device, segments.size());
    host_squares_ = host_array<float>(device, segments.size());
    copy_to_device(device, segments_.span(), Span<const Segment>(segments.data(), segments.size()));
    device.synchronize();
    // In lockstep every rank has the centre, at free pace only rank 0.
    if (free_) window_ = group.expose(rank_ == 0 ? centre_.span() : Vec());
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    if (!alone_ && steps_++ % every_ == 0) meet(replica, group);
    replica.backward(batch, Scale::own_share);
    if (batch.size() > 0) optimizer_->update(replica.weights(), replica.gradients(), batch);
  }

  Vec settle(Replica& replica, Group& group) override {
    if (alone_) return replica.weights();
    if (free_ && rank_ != 0) group.peer(0).get(window_, 0, centre_);
    return centre_;
  }

  void save(Archive& archive) override {
    archive.put_value("steps", steps_);
    if (!alone_) archive.put("centre", centre_.span());
  }
  void restore(Archive& archive) override {
    archive.get_value("steps", steps_);
    if (!alone_) archive.get("centre", centre_.span());
  }

 private:
  void meet(Replica& replica, Group& group) {
    if (free_) group.exclusive(kCentre, [&] { meet_alone(replica, group); });
    else meet_together(replica, group);
    double squares = 0;
    for (const float sum : host_squares_.span()) squares += static_cast<double>(sum);
    replica.metric("distance from the centre", std::sqrt(squares));
  }

  // Rank 0's device holds the centre. A rank has exclusive access until its device has written the centre back.
  void meet_alone(Replica& replica, Group& group) {
    if (rank_ != 0) group.peer(0).get(window_, 0, centre_);
    attract(replica);
    follow(replica);
    if (rank_ != 0) group.peer(0).put(window_, 0, centre_.span());
    replica.device().synchronize();
  }

  // All ranks move towards the same centre; then the centre moves by the sum of their pulls.
  void meet_together(Replica& replica, Group& group) {
    attract(replica);
    group.all_reduce(pull_.span());
    follow(replica);
    replica.device().synchronize();
  }

  void attract(Replica& replica) {
    Device& device = replica.device();
    const Vec own = replica.weights();
    segmented_reduce(device, Span<const Segment>(segments_.span()), squares_.span(), SquaredDistance{own.data(), centre_.data()});
    copy_to_host(device, host_squares_.span(), squares_.span());
    for_each(device, own.size(), Attract{own.data(), centre_.data(), pull_.data(), alpha_});
  }

  void follow(Replica& replica) {
    for_each(replica.device(), centre_.size(), Follow{centre_.data(), pull_.data()});
  }

  bool free_;
  std::size_t every_;
  float alpha_;
  bool plain_;
  bool alone_;
  int rank_ = 0;
  int window_ = 0;
  std::size_t steps_ = 0;
  std::unique_ptr<Optimizer> optimizer_;
  Array<float> centre_, pull_, squares_, host_squares_;
  Array<Segment> segments_;
};

}  // namespace
}  // namespace easgd

using easgd::Easgd;
MGCOMPARE_STRATEGY(Easgd, "easgd", "elastic averaging: ranks train models of their own, tied to a common centre")
