// Asynchronous SGD with a parameter server: each rank pulls the weights, computes a gradient of the next samples of the
// epoch, and pushes it. The staleness of a gradient is the number of updates since its weights were pulled. README.md has
// the papers, the options and their costs.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "mgcompare/arithmetic.h"
#include "mgcompare/strategy.h"
#include "books.h"
#include "rules.h"
#include "server.h"
#include "settings.h"

namespace async_sgd {
namespace {

class AsyncSgd : public Strategy {
 public:
  AsyncSgd(Options& options, const Facts& facts) : given_(options, facts) {}

  Traits traits() const override {
    Traits traits;
    traits.pace = Traits::Pace::free;
    traits.one_host = given_.one_host;
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    const std::size_t n = replica.weights().size();
    if (given_.on_hosts) own_server_ = make_server(replica);
    server_ = given_.on_hosts ? own_server_.get() : &group.shared<Server>([&] { return make_server(replica); });
    reach_ = std::make_unique<Reach>(replica, group, *server_, given_.needs);
    if (given_.on_hosts) books_ = std::make_unique<Books>(replica.device(), group, *server_);
    rank_ = static_cast<std::size_t>(group.rank());
    versions_.resize(server_->stripes.size());
    if (given_.hogwild) own_optimizer_ = replica.device_optimizer(given_.needs.plain);
    if (given_.hogwild || given_.push_every > 1) gathered_ = device_array<float>(replica.device(), n);
    settled_ = device_array<float>(replica.device(), n);
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    if (given_.bounded) wait_for_slowest(replica, group);
    if (steps_ % given_.pull_every == 0 && !fresh_) pull(replica, group);
    fresh_ = false;
    replica.backward(batch, Scale::own_share);
    ++steps_;
    last_ = batch;
    if (given_.hogwild) push_change(replica, group, batch);
    else gather(replica, group, batch);
    if (given_.bounded) at_gate(group, [&] { ++server_->steps[rank_]; });
  }

  // The last rank to rest applies the gradients that softsync has gathered so far.
  void rest(Replica& replica, Group& group) override {
    if (steps_ % given_.push_every != 0) push(replica, group, *last_, false);
    if (given_.needs.sum) {
      for (Stripe& stripe : server_->stripes) {
        in_section(group, number_of(stripe), [&] {
          if (++stripe.resting < given_.ranks) return;
          stripe.resting = 0;
          if (stripe.gathered == 0) return;
          reach_->open(stripe.range);
          update(stripe);
          reach_->close(stripe.range);
        });
      }
    }
    if (given_.bounded) {
      at_gate(group, [&] {
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

  // There is one server for all ranks; rank 0 saves it. The program saves the optimiser's state.
  void save(Archive& archive) override {
    if (rank_ != 0) return;
    for (const auto& [name, vector] : kept())
      if (reach_->on_device()) archive.put(name, vector);
      else archive.put_host(name, vector);
    const std::uint64_t clock = server_->clock;
    archive.put_value("clock", clock);
    for (const Stripe& stripe : server_->stripes) {
      if (books_ != nullptr) books_->load(number_of(stripe));
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
      if (books_ != nullptr) books_->store(number_of(stripe));
    }
  }

 private:
  std::unique_ptr<Server> make_server(Replica& replica) const {
    const std::size_t n = replica.weights().size();
    auto server = std::make_unique<Server>();
    server->stripes = make_stripes(n, given_.stripes);
    server->steps.resize(given_.ranks);
    if (given_.needs.on_device) return server;
    server->weights = host_array<float>(replica.device(), n);
    server->sum = host_array<float>(replica.device(), given_.needs.sum ? n : 0);
    server->mean_square = host_array<float>(replica.device(), given_.needs.mean_square ? n : 0);
    if (given_.needs.optimizer && !given_.needs.own_optimizer)
      server->optimizer = replica.host_optimizer(given_.needs.plain);
    copy_to_host(replica.device(), server->weights.span(), replica.weights());
    replica.device().synchronize();
    return server;
  }

  // f() in the section of a stripe, or in that of the step counts.
  template <class F> void in_section(Group& group, std::size_t stripe, F f) {
    group.exclusive(stripe, [&] {
      if (books_ != nullptr) books_->load(stripe);
      f();
      if (books_ != nullptr) books_->store(stripe);
    });
  }
  template <class F> void at_gate(Group& group, F f) {
    group.exclusive(gate(), [&] {
      if (books_ != nullptr) books_->load_steps();
      f();
      if (books_ != nullptr) books_->store_steps();
    });
  }

  // The server's vectors that belong in a checkpoint. The sum is empty between epochs.
  std::vector<std::pair<std::string, Vec>> kept() const {
    std::vector<std::pair<std::string, Vec>> vectors = {{"weights", reach_->weights()}};
    if (given_.needs.mean_square) vectors.push_back({"mean square", reach_->mean_square()});
    return vectors;
  }

  std::size_t number_of(const Stripe& stripe) const { return static_cast<std::size_t>(&stripe - server_->stripes.data()); }
  std::size_t gate() const { return static_cast<std::size_t>(kMostStripes); }
  bool pulls_next() const { return steps_ % given_.pull_every == 0; }

  // Each rank begins at another stripe, so that they do not queue for the same locks.
  template <class F> void each_stripe(Group& group, F f) {
    std::vector<Stripe>& stripes = server_->stripes;
    const std::size_t offset = rank_ * stripes.size() / given_.ranks;
    for (std::size_t k = 0; k < stripes.size(); ++k) {
      const std::size_t s = (k + offset) % stripes.size();
      in_section(group, s, [&] { f(stripes[s], s); });
    }
  }

  // Resets the step counts for a new epoch. All ranks have rested by then.
  void begin_round() {
    if (server_->round > round_) return;
    server_->round = round_ + 1;
    std::fill(server_->steps.begin(), server_->steps.end(), std::uint64_t{0});
  }

  // Stale synchronous parallel (Ho et al., NIPS 2013): waits while this rank is over `bound` steps ahead of the slowest.
  void wait_for_slowest(Replica& replica, Group& group) {
    at_gate(group, [&] { begin_round(); });
    std::uint64_t gap = 0;
    group.wait_until([&] {
      if (books_ != nullptr) books_->load_steps();
      gap = server_->steps[rank_] - *std::min_element(server_->steps.begin(), server_->steps.end());
      return gap <= given_.bound;
    });
    replica.histogram("clock gap", gap);
  }

  void pull(Replica& replica, Group& group) {
    replica.device().synchronize();  // an earlier pull may still be copying
    if (given_.unlocked) {
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

  // Adds this step's gradient to those not pushed yet, and pushes when it is time.
  void gather(Replica& replica, Group& group, const Batch& batch) {
    const Vec gradients = replica.gradients();
    if (given_.push_every > 1) for_each(replica.device(), gradients.size(), AddScaled{gathered_.data(), gradients.data(), 1});
    if (!pulls_next())
      for_each(replica.device(), gradients.size(),
               AddScaled{replica.weights().data(), gradients.data(), static_cast<float>(-given_.rate * batch.learning_rate())});
    // With bounded staleness a rank must wait before it pulls, so it cannot pull together with the push.
    if (steps_ % given_.push_every == 0) push(replica, group, batch, pulls_next() && !given_.bounded);
  }

  void push(Replica& replica, Group& group, const Batch& batch, bool and_pull) {
    reach_->take_gradient(given_.push_every > 1 ? gathered_.span() : replica.gradients());
    std::size_t dropped = 0;
    each_stripe(group, [&](Stripe& stripe, std::size_t s) {
      const std::uint64_t version = versions_[s], clock = stripe.updates;
      const double scale = rate_of(clock - version, given_.aware);
      const bool drop = given_.drop_above > 0 && clock - version > given_.drop_above;
      reach_->open(stripe.range);
      if (drop) ++dropped;
      else add(stripe, scale, batch);
      if (and_pull) {
        reach_->keep(stripe.range);
        versions_[s] = stripe.updates;
      }
      reach_->close(stripe.range);
      report_gradient(replica, s, stripe.came++, version, clock, drop ? 0 : scale);
    });
    if (given_.drop_above > 0)
      replica.metric("dropped", static_cast<double>(dropped) / static_cast<double>(server_->stripes.size()));
    if (given_.push_every > 1) replica.device().zero(gathered_.data(), gathered_.span().bytes());
    if (and_pull) reach_->deliver(replica.weights());
    fresh_ = and_pull;
  }

  void add(Stripe& stripe, double scale, const Batch& batch) {
    const Range range = stripe.range;
    float* const gradient = reach_->gradient().data() + range.begin;
    if (given_.compensation > 0) compensate(range, gradient);
    if (!given_.needs.sum) return apply(stripe, reach_->gradient(), batch, given_.rate * scale);
    const double part = scale / static_cast<double>(given_.per_update);
    reach_->each(range, AddScaled{reach_->sum().data() + range.begin, gradient, static_cast<float>(part)});
    stripe.last = batch;
    if (++stripe.gathered == given_.per_update) update(stripe);
  }

  void compensate(Range range, float* gradient) {
    const float* const weights = reach_->weights().data() + range.begin;
    const float* const pulled = reach_->pulled().data() + range.begin;
    const auto strength = static_cast<float>(given_.compensation);
    if (given_.needs.mean_square)
      reach_->each(range, CompensateAdaptively{gradient, weights, pulled, reach_->mean_square().data() + range.begin, strength});
    else
      reach_->each(range, Compensate{gradient, weights, pulled, strength});
  }

  // Applies the mean of the gathered gradients at the full rate: weight decay and adaptive optimisers see one gradient.
  void update(Stripe& stripe) {
    float* const sum = reach_->sum().data() + stripe.range.begin;
    if (stripe.gathered < given_.per_update)
      reach_->each(stripe.range, Multiply{sum, static_cast<float>(given_.per_update) / static_cast<float>(stripe.gathered)});
    apply(stripe, reach_->sum(), *stripe.last, given_.rate);
    reach_->each(stripe.range, Multiply{sum, 0});
    stripe.gathered = 0;
  }

  void apply(Stripe& stripe, ConstVec gradient, const Batch& batch, double rate_scale) {
    if (number_of(stripe) == 0) reach_->optimizer().advance();
    reach_->optimizer().apply(reach_->weights(), gradient, stripe.range, batch, rate_scale);
    ++stripe.updates;
  }

  // Hogwild (Niu, Recht, Re, Wright: NIPS 2011): the rank updates its own copy and adds the change to the server's weights.
  void push_change(Replica& replica, Group& group, const Batch& batch) {
    Device& device = replica.device();
    const Vec weights = replica.weights(), change = gathered_;
    copy(device, change, weights);
    own_optimizer_->update(weights, replica.gradients(), batch, given_.rate);
    for_each(device, weights.size(), Change{change.data(), weights.data()});
    reach_->take_gradient(change);
    const auto add_change = [&](Range range, double scale) {
      if (scale != 1)
        reach_->each(range, Multiply{reach_->gradient().data() + range.begin, static_cast<float>(scale)});
      reach_->add(range);
    };
    if (given_.unlocked) {
      ++server_->writing;
      const std::uint64_t clock = server_->clock++;
      const double scale = rate_of(clock - versions_[0], given_.aware);
      add_change(server_->stripes[0].range, scale);
      --server_->writing;
      report_gradient(replica, 0, clock, versions_[0], clock, scale);
      return;
    }
    each_stripe(group, [&](Stripe& stripe, std::size_t s) {
      const std::uint64_t clock = stripe.updates++;
      const bool drop = given_.drop_above > 0 && clock - versions_[s] > given_.drop_above;
      const double scale = drop ? 0 : rate_of(clock - versions_[s], given_.aware);
      if (!drop) add_change(stripe.range, scale);
      if (s == 0 && given_.drop_above > 0) replica.metric("dropped", drop ? 1 : 0);
      report_gradient(replica, s, stripe.came++, versions_[s], clock, scale);
    });
  }

  // Columns of the record: stripe, number of the gradient, rank, clock at the pull, clock at the push, staleness, fraction of
  // the rate. The histogram covers the first stripe only.
  void report_gradient(Replica& replica, std::size_t stripe, std::uint64_t number, std::uint64_t pulled, std::uint64_t pushed, double scale) {
    replica.record("gradients", {static_cast<double>(stripe), static_cast<double>(number), static_cast<double>(rank_),
                                 static_cast<double>(pulled), static_cast<double>(pushed),
                                 static_cast<double>(pushed - pulled), scale});
    if (stripe == 0) replica.histogram("staleness", pushed - pulled);
  }

  const Settings given_;
  std::unique_ptr<Server> own_server_;   // on several hosts
  Server* server_ = nullptr;
  std::unique_ptr<Reach> reach_;
  std::unique_ptr<Books> books_;         // on several hosts
  std::size_t rank_ = 0;
  std::vector<std::uint64_t> versions_;  // each stripe's clock when it was pulled
  std::unique_ptr<Optimizer> own_optimizer_;
  Array<float> gathered_, settled_;      // gathered: the gradients since the last push; with hogwild, the change of an update
  std::size_t steps_ = 0;                // since the epoch began
  std::uint64_t round_ = 0;              // epochs rested from
  bool fresh_ = false;                   // pulled at the end of the last step
  std::optional<Batch> last_;
};

}  // namespace
}  // namespace async_sgd

using async_sgd::AsyncSgd;
MGCOMPARE_STRATEGY(AsyncSgd, "async_sgd", "parameter server on the host or a device, ranks run freely, staleness-aware rates (Downpour, Hogwild)")
