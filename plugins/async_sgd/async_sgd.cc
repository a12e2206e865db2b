// Asynchronous SGD with a parameter server: each rank pulls the weights, learns from the next samples nobody has taken,
// and pushes its gradient. The staleness of a gradient is the number of updates made since its weights were pulled. The
// README beside this file has the papers, the options and what they cost.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "mgcompare/arithmetic.h"
#include "mgcompare/strategy.h"
#include "rules.h"
#include "server.h"

namespace async_sgd {
namespace {

constexpr std::int64_t kMostStripes = 128;  // more than there are ranks; the group tells 256 apart

class AsyncSgd : public Strategy {
 public:
  AsyncSgd(Options& options, const Facts& facts) : ranks_(static_cast<std::uint64_t>(facts.ranks)) {
    needs_.on_device = options.choice("server", "host", "where the weights are: host memory, or rank 0's device",
                                      {"host", "device"}) == "device";
    const std::string rule = options.choice(
        "rule", "downpour", "an update per gradient; unlocked additions to shared weights; or one per ranks / n gradients",
        {"downpour", "hogwild", "softsync"});
    hogwild_ = rule == "hogwild";
    read_update(options, facts, rule == "softsync");
    read_staleness(options);
    read_momentum(options, facts, rule == "softsync");
    read_lock(options, facts);
    read_periods(options, facts);
  }

  Traits traits() const override {
    Traits traits;
    traits.pace = Traits::Pace::free;
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    const std::size_t n = replica.weights().size();
    server_ = &group.shared<Server>([&] {
      auto server = std::make_unique<Server>();
      server->stripes = make_stripes(n, stripes_);
      server->steps.resize(ranks_);
      if (needs_.on_device) return server;
      server->weights = host_array<float>(replica.device(), n);
      server->sum = host_array<float>(replica.device(), needs_.sum ? n : 0);
      server->mean_square = host_array<float>(replica.device(), needs_.mean_square ? n : 0);
      if (needs_.optimizer && !needs_.own_optimizer) server->optimizer = replica.host_optimizer(needs_.plain);
      copy_to_host(replica.device(), server->weights.span(), replica.weights());
      replica.device().synchronize();
      return server;
    });
    reach_ = std::make_unique<Reach>(replica, group, *server_, needs_);
    rank_ = static_cast<std::size_t>(group.rank());
    versions_.resize(server_->stripes.size());
    if (hogwild_) own_optimizer_ = replica.device_optimizer(needs_.plain);
    if (hogwild_ || push_every_ > 1) gathered_ = device_array<float>(replica.device(), n);
    settled_ = device_array<float>(replica.device(), n);
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    if (bounded_) wait_for_slowest(replica, group);
    if (steps_ % pull_every_ == 0 && !fresh_) pull(replica, group);
    fresh_ = false;
    replica.backward(batch, Scale::own_share);
    ++steps_;
    last_ = batch;
    if (hogwild_) push_change(replica, group, batch);
    else gather(replica, group, batch);
    if (bounded_) group.exclusive(gate(), [&] { ++server_->steps[rank_]; });
  }

  // The last of the ranks to rest makes an update of what is gathered.
  void rest(Replica& replica, Group& group) override {
    if (steps_ % push_every_ != 0) push(replica, group, *last_, false);
    if (needs_.sum) {
      for (Stripe& stripe : server_->stripes) {
        group.exclusive(number_of(stripe), [&] {
          if (++stripe.resting < ranks_) return;
          stripe.resting = 0;
          if (stripe.gathered == 0) return;
          reach_->open(stripe.range);
          update(stripe);
          reach_->close(stripe.range);
        });
      }
    }
    if (bounded_) {
      group.exclusive(gate(), [&] {
        begin_round();
        server_->steps[rank_] = std::numeric_limits<std::uint64_t>::max();
      });
    }
    ++round_;
    steps_ = 0;
    fresh_ = false;
  }

  Vec settle(Replica&, Group&) override {
    reach_->read(settled_);
    return settled_;
  }

  // One server for all ranks: the first keeps it. Its optimiser's state is kept by the replica.
  void save(Archive& archive) override {
    if (rank_ != 0) return;
    for (const auto& [name, vector] : kept())
      if (reach_->on_device()) archive.put(name, vector);
      else archive.put_host(name, vector);
    const std::uint64_t clock = server_->clock;
    archive.put_value("clock", clock);
    for (const Stripe& stripe : server_->stripes) {
      const std::string name = std::to_string(number_of(stripe));
      archive.put_value("updates/" + name, stripe.updates);
      archive.put_value("came/" + name, stripe.came);
    }
  }
  void restore(Archive& archive) override {
    if (rank_ != 0) return;
    for (const auto& [name, vector] : kept())
      if (reach_->on_device()) archive.get(name, vector);
      else archive.get_host(name, vector);
    std::uint64_t clock = 0;
    archive.get_value("clock", clock);
    server_->clock = clock;
    for (Stripe& stripe : server_->stripes) {
      const std::string name = std::to_string(number_of(stripe));
      archive.get_value("updates/" + name, stripe.updates);
      archive.get_value("came/" + name, stripe.came);
    }
  }

 private:
  void read_update(Options& options, const Facts& facts, bool softsync) {
    const std::int64_t n = options.integer("n", 1, "softsync: updates per ranks gradients; 1 is nearest to lockstep", 1);
    rate_ = options.number("rate", 1, "the server's learning rate over the experiment's", 1e-6, 1e6);
    compensation_ = options.number("delay_compensation", 0,
                                   "DC-ASGD's lambda: corrects old gradients by their square; 0: not", 0, 1e6);
    needs_.mean_square = options.choice("compensation", "constant",
                                        "lambda as it is, or over the root of the gradients' mean square, element by element",
                                        {"constant", "adaptive"}) == "adaptive" && compensation_ > 0;
    if (compensation_ == 0 && options.given("compensation")) options.refuse("compensation", "goes with a delay_compensation above 0");
    if (!softsync && options.given("n")) options.refuse("n", "goes with rule: softsync");
    // Alone there is one gradient to an update whatever n is, so that a row on one device may stand beside others.
    if (softsync && facts.ranks > 1 && n > facts.ranks)
      options.refuse("n", "is " + std::to_string(n) + " and there are " + std::to_string(facts.ranks) +
                              " ranks; an update has at least one gradient, so n is 1 to " + std::to_string(facts.ranks));
    if (hogwild_ && compensation_ > 0) options.refuse("delay_compensation", "does not go with rule: hogwild, whose ranks push changes of weights");
    per_update_ = softsync ? gradients_per_update(ranks_, static_cast<std::uint64_t>(n)) : 1;
    needs_.sum = per_update_ > 1;
    needs_.optimizer = !hogwild_;
  }

  void read_staleness(Options& options) {
    const std::string staleness = options.choice(
        "staleness", "aware", "old gradients: as they are, at rate / staleness, or none older than a bound lets be",
        {"none", "aware", "bounded"});
    aware_ = staleness == "aware";
    bounded_ = staleness == "bounded";
    bound_ = static_cast<std::uint64_t>(options.integer(
        "bound", 1, "bounded: steps that a rank may be ahead of the slowest; 0 is lockstep", 0, 1 << 20));
    drop_above_ = static_cast<std::uint64_t>(
        options.integer("drop_above", 0, "drops gradients that are staler than this; 0: none", 0, 1 << 20));
    if (!bounded_ && options.given("bound")) options.refuse("bound", "goes with staleness: bounded");
  }

  // Momentum amplifies the oscillation that stale gradients cause: along a direction of curvature h, sgd with momentum m
  // bears a rate below 2 (1 + m) / h without staleness and below (1 - m) / h at a staleness of 1, which for m = 0.9 is 38
  // times less. So several ranks have none unless told.
  void read_momentum(Options& options, const Facts& facts, bool softsync) {
    const std::string momentum = options.choice(
        "momentum", "auto", "of sgd: one at the server, one for each rank's gradients, none; auto: none with several ranks",
        {"auto", "server", "worker", "none"});
    needs_.plain = momentum == "none" || (momentum == "auto" && facts.ranks > 1);
    needs_.own_optimizer = momentum == "worker";
    if (softsync && momentum == "worker")
      options.refuse("momentum", "worker does not go with rule: softsync, which adds the ranks' gradients; use server or none");
    if (hogwild_ && momentum == "server")
      options.refuse("momentum", "server does not go with rule: hogwild, whose server only adds; use worker or none");
    if (needs_.on_device && !hogwild_ && facts.optimizer == "adam" && momentum != "worker" && facts.ranks > 1)
      options.refuse("server", "device does not go with adam, whose count of updates each device has for itself; use server: host, or momentum: worker");
  }

  // Stripes let ranks work on the host's copy side by side. A device's share of that work is short and each stripe costs a
  // wait for the device, so one lock is faster there.
  void read_lock(Options& options, const Facts& facts) {
    const std::int64_t stripes =
        options.integer("stripes", 16, "lock: striped: parts of the model with a lock each", 1, kMostStripes);
    std::string lock = options.choice("lock", "auto", "one for the model, one for each stripe of it, none; auto: what suits the rest",
                                      {"auto", "global", "striped", "none"});
    if (lock == "none" && !hogwild_) options.refuse("lock", "none goes with rule: hogwild; other rules read before they write");
    if (lock == "striped" && facts.optimizer == "adam" && !hogwild_)
      options.refuse("lock", "striped does not go with adam, which counts updates of the whole model; use global");
    if (lock == "auto")
      lock = hogwild_ ? "none" : needs_.on_device || facts.optimizer == "adam" ? "global" : "striped";
    unlocked_ = lock == "none" && hogwild_;
    if (unlocked_ && facts.ordered)
      options.refuse(options.given("lock") ? "lock" : "rule", "without locks there is no order that virtual time could decide or a replay repeat; use lock: global or striped");
    if (unlocked_ && drop_above_ > 0) options.refuse("drop_above", "does not go with lock: none");
    needs_.atomic = unlocked_;
    stripes_ = lock == "striped" ? static_cast<std::size_t>(stripes) : 1;
    if (lock != "striped" && options.given("stripes")) options.refuse("stripes", "goes with lock: striped");
  }

  void read_periods(Options& options, const Facts& facts) {
    push_every_ = static_cast<std::size_t>(options.integer("push_every", 1, "steps whose gradients are pushed as one sum", 1, 1 << 20));
    pull_every_ = static_cast<std::size_t>(
        options.integer("pull_every", 1, "steps from one pull to the next; in between a rank moves its own copy", 1, 1 << 20));
    if (hogwild_ && push_every_ > 1) options.refuse("push_every", "does not go with rule: hogwild");
    if (hogwild_ && pull_every_ > 1) options.refuse("pull_every", "does not go with rule: hogwild");
    if (pull_every_ > 1 && facts.optimizer != "sgd")
      options.refuse("pull_every", "needs optimizer sgd: between pulls a rank moves its own copy by plain sgd");
  }

  // The server's vectors of which a checkpoint keeps the numbers. Between epochs nothing is gathered.
  std::vector<std::pair<std::string, Vec>> kept() const {
    std::vector<std::pair<std::string, Vec>> vectors = {{"weights", reach_->weights()}};
    if (needs_.mean_square) vectors.push_back({"mean square", reach_->mean_square()});
    return vectors;
  }

  std::size_t number_of(const Stripe& stripe) const { return static_cast<std::size_t>(&stripe - server_->stripes.data()); }
  std::size_t gate() const { return static_cast<std::size_t>(kMostStripes); }
  bool pulls_next() const { return steps_ % pull_every_ == 0; }

  // In an order that differs from rank to rank, so that they do not queue behind one another.
  template <class F> void each_stripe(Group& group, F f) {
    std::vector<Stripe>& stripes = server_->stripes;
    const std::size_t offset = rank_ * stripes.size() / ranks_;
    for (std::size_t k = 0; k < stripes.size(); ++k) {
      const std::size_t s = (k + offset) % stripes.size();
      group.exclusive(s, [&] { f(stripes[s], s); });
    }
  }

  // The ranks have all rested before one of them begins the next epoch.
  void begin_round() {
    if (server_->round > round_) return;
    server_->round = round_ + 1;
    std::fill(server_->steps.begin(), server_->steps.end(), std::uint64_t{0});
  }

  // Stale synchronous parallel (Ho et al., NIPS 2013): wait while more than `bound` steps ahead of the slowest.
  void wait_for_slowest(Replica& replica, Group& group) {
    group.exclusive(gate(), [&] { begin_round(); });
    std::uint64_t gap = 0;
    group.wait_until([&] {
      gap = server_->steps[rank_] - *std::min_element(server_->steps.begin(), server_->steps.end());
      return gap <= bound_;
    });
    replica.histogram("clock gap", gap);
  }

  void pull(Replica& replica, Group& group) {
    replica.device().synchronize();  // the copy of an earlier pull
    if (unlocked_) {
      versions_[0] = server_->clock;
      const bool written = server_->writing > 0;
      reach_->pull(server_->stripes[0].range);
      const bool torn = written || server_->writing > 0 || server_->clock != versions_[0];
      replica.metric("torn pulls", torn ? 1 : 0);
    } else {
      each_stripe(group, [&](Stripe& stripe, std::size_t s) {
        reach_->pull(stripe.range);
        versions_[s] = stripe.updates;
      });
    }
    reach_->deliver(replica.weights());
  }

  // One gradient more of this rank.
  void gather(Replica& replica, Group& group, const Batch& batch) {
    const Vec gradients = replica.gradients();
    if (push_every_ > 1) for_each(replica.device(), gradients.size(), AddScaled{gathered_.data(), gradients.data(), 1});
    if (!pulls_next())
      for_each(replica.device(), gradients.size(),
               AddScaled{replica.weights().data(), gradients.data(), static_cast<float>(-rate_ * batch.learning_rate())});
    // A bounded rank waits before it pulls.
    if (steps_ % push_every_ == 0) push(replica, group, batch, pulls_next() && !bounded_);
  }

  void push(Replica& replica, Group& group, const Batch& batch, bool and_pull) {
    reach_->take_gradient(push_every_ > 1 ? gathered_.span() : replica.gradients());
    std::size_t dropped = 0;
    each_stripe(group, [&](Stripe& stripe, std::size_t s) {
      const std::uint64_t version = versions_[s], clock = stripe.updates;
      const double scale = rate_of(clock - version, aware_);
      const bool drop = drop_above_ > 0 && clock - version > drop_above_;
      reach_->open(stripe.range);
      if (drop) ++dropped;
      else add(stripe, scale, batch);
      if (and_pull) {
        reach_->keep(stripe.range);
        versions_[s] = stripe.updates;
      }
      reach_->close(stripe.range);
      tell(replica, s, stripe.came++, version, clock, drop ? 0 : scale);
    });
    if (drop_above_ > 0)
      replica.metric("dropped", static_cast<double>(dropped) / static_cast<double>(server_->stripes.size()));
    if (push_every_ > 1) replica.device().zero(gathered_.data(), gathered_.span().bytes());
    if (and_pull) reach_->deliver(replica.weights());
    fresh_ = and_pull;
  }

  void add(Stripe& stripe, double scale, const Batch& batch) {
    const Range range = stripe.range;
    float* const gradient = reach_->gradient().data() + range.begin;
    if (compensation_ > 0) compensate(range, gradient);
    if (!needs_.sum) return apply(stripe, reach_->gradient(), batch, rate_ * scale);
    const double part = scale / static_cast<double>(per_update_);
    reach_->each(range, AddScaled{reach_->sum().data() + range.begin, gradient, static_cast<float>(part)});
    stripe.last = batch;
    if (++stripe.gathered == per_update_) update(stripe);
  }

  void compensate(Range range, float* gradient) {
    const float* const weights = reach_->weights().data() + range.begin;
    const float* const pulled = reach_->pulled().data() + range.begin;
    const auto strength = static_cast<float>(compensation_);
    if (needs_.mean_square)
      reach_->each(range, CompensateAdaptively{gradient, weights, pulled, reach_->mean_square().data() + range.begin, strength});
    else
      reach_->each(range, Compensate{gradient, weights, pulled, strength});
  }

  // With the mean of what is gathered, at the whole rate: weight decay and adaptive optimisers see one gradient.
  void update(Stripe& stripe) {
    float* const sum = reach_->sum().data() + stripe.range.begin;
    if (stripe.gathered < per_update_)
      reach_->each(stripe.range, Multiply{sum, static_cast<float>(per_update_) / static_cast<float>(stripe.gathered)});
    apply(stripe, reach_->sum(), *stripe.last, rate_);
    reach_->each(stripe.range, Multiply{sum, 0});
    stripe.gathered = 0;
  }

  void apply(Stripe& stripe, ConstVec gradient, const Batch& batch, double rate_scale) {
    if (number_of(stripe) == 0) reach_->optimizer().advance();
    reach_->optimizer().apply(reach_->weights(), gradient, stripe.range, batch, rate_scale);
    ++stripe.updates;
  }

  // Hogwild (Niu, Recht, Re, Wright: NIPS 2011): the rank updates its own copy, and adds what that changed.
  void push_change(Replica& replica, Group& group, const Batch& batch) {
    Device& device = replica.device();
    const Vec weights = replica.weights(), change = gathered_;
    copy(device, change, weights);
    own_optimizer_->update(weights, replica.gradients(), batch, rate_);
    for_each(device, weights.size(), Change{change.data(), weights.data()});
    reach_->take_gradient(change);
    const auto add_change = [&](Range range, double scale) {
      if (scale != 1)
        reach_->each(range, Multiply{reach_->gradient().data() + range.begin, static_cast<float>(scale)});
      reach_->add(range);
    };
    if (unlocked_) {
      ++server_->writing;
      const std::uint64_t clock = server_->clock++;
      const double scale = rate_of(clock - versions_[0], aware_);
      add_change(server_->stripes[0].range, scale);
      --server_->writing;
      tell(replica, 0, clock, versions_[0], clock, scale);
      return;
    }
    each_stripe(group, [&](Stripe& stripe, std::size_t s) {
      const std::uint64_t clock = stripe.updates++;
      const bool drop = drop_above_ > 0 && clock - versions_[s] > drop_above_;
      const double scale = drop ? 0 : rate_of(clock - versions_[s], aware_);
      if (!drop) add_change(stripe.range, scale);
      if (s == 0 && drop_above_ > 0) replica.metric("dropped", drop ? 1 : 0);
      tell(replica, s, stripe.came++, versions_[s], clock, scale);
    });
  }

  // Columns of the record: stripe, number of the gradient, rank, clock when pulled, clock when pushed, staleness, share of
  // the rate. The histogram is the first stripe's.
  void tell(Replica& replica, std::size_t stripe, std::uint64_t number, std::uint64_t pulled, std::uint64_t pushed, double scale) {
    replica.record("gradients", {static_cast<double>(stripe), static_cast<double>(number), static_cast<double>(rank_),
                                 static_cast<double>(pulled), static_cast<double>(pushed),
                                 static_cast<double>(pushed - pulled), scale});
    if (stripe == 0) replica.histogram("staleness", pushed - pulled);
  }

  std::uint64_t ranks_;
  Needs needs_;
  bool hogwild_ = false, aware_ = false, bounded_ = false, unlocked_ = false;
  std::uint64_t per_update_ = 1, bound_ = 0, drop_above_ = 0;
  double rate_ = 1, compensation_ = 0;
  std::size_t stripes_ = 1, push_every_ = 1, pull_every_ = 1;

  Server* server_ = nullptr;
  std::unique_ptr<Reach> reach_;
  std::size_t rank_ = 0;
  std::vector<std::uint64_t> versions_;  // of each stripe as it was pulled
  std::unique_ptr<Optimizer> own_optimizer_;
  Array<float> gathered_, settled_;      // gathered: gradients since the last push; hogwild: what an update changed
  std::size_t steps_ = 0;                // since the epoch began
  std::uint64_t round_ = 0;              // epochs rested from
  bool fresh_ = false;                   // pulled at the end of the last step
  std::optional<Batch> last_;
};

}  // namespace
}  // namespace async_sgd

using async_sgd::AsyncSgd;
MGCOMPARE_STRATEGY(AsyncSgd, "async_sgd", "parameter server on the host or a device, ranks run freely, staleness-aware rates")
