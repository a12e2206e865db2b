// Asynchronous SGD with a parameter server in host memory (Dean et al., NIPS 2012). Each rank pulls the weights, learns
// from the next samples nobody has taken, and pushes its gradient, which is applied at once. The staleness of a gradient
// is the number of updates made since its weights were pulled; staleness-aware rates divide the learning rate by it
// (Zhang, Gupta, Lian, Liu: arXiv 1511.05950).

#include <algorithm>

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

// The model and its clock, in host memory: page-locked where devices are GPUs. Touched in exclusive sections only.
struct Server {
  Array<float> weights;
  std::unique_ptr<Optimizer> optimizer;
  std::uint64_t clock = 0;  // updates made
};

constexpr std::size_t kServer = 0;

class AsyncSgd : public Strategy {
 public:
  // Momentum amplifies the oscillation that stale gradients cause: along a direction of curvature h, sgd with momentum m
  // bears a rate below 2 (1 + m) / h without staleness and below (1 - m) / h at a staleness of 1, which for m = 0.9 is 38
  // times less. So several ranks have none unless told.
  AsyncSgd(Options& options, const Facts& facts)
      : aware_(options.choice("staleness", "aware", "what is done about old gradients: nothing, or rate / staleness",
                              {"none", "aware"}) == "aware"),
        rate_(options.number("rate", 1, "the server's learning rate over the experiment's", 1e-6, 1e6)) {
    const std::string momentum = options.choice("momentum", "auto", "of the server's sgd; auto: none with several ranks",
                                                {"auto", "server", "none"});
    plain_ = momentum == "none" || (momentum == "auto" && facts.ranks > 1);
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
      server->weights = host_array<float>(replica.device(), n);
      server->optimizer = replica.host_optimizer(plain_);
      copy_to_host(replica.device(), server->weights.span(), replica.weights());
      replica.device().synchronize();
      return server;
    });
    first_ = group.rank() == 0;
    pulled_ = host_array<float>(replica.device(), n);
    pushed_ = host_array<float>(replica.device(), n);
    settled_ = device_array<float>(replica.device(), n);
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    Device& device = replica.device();
    std::uint64_t version = 0;
    group.exclusive(kServer, [&] {
      std::copy_n(server_->weights.data(), pulled_.size(), pulled_.data());
      version = server_->clock;
    });
    copy_to_device(device, replica.weights(), pulled_.span());
    replica.backward(batch, Scale::own_share);
    copy_to_host(device, pushed_.span(), replica.gradients());
    device.synchronize();
    std::uint64_t staleness = 0;
    group.exclusive(kServer, [&] {
      staleness = server_->clock++ - version;
      const double rate_scale = rate_ * (aware_ && staleness > 0 ? 1.0 / static_cast<double>(staleness) : 1.0);
      server_->optimizer->update(server_->weights.span(), pushed_.span(), batch, rate_scale);
    });
    replica.metric("staleness", static_cast<double>(staleness));
  }

  Vec settle(Replica& replica, Group&) override {
    copy_to_device(replica.device(), settled_.span(), server_->weights.span());
    replica.device().synchronize();
    return settled_;
  }

  // One server for all ranks: the first keeps it.
  void save(Archive& archive) override {
    if (!first_) return;
    archive.put_host("weights", server_->weights.span());
    archive.put_value("clock", server_->clock);
  }
  void restore(Archive& archive) override {
    if (!first_) return;
    archive.get_host("weights", server_->weights.span());
    archive.get_value("clock", server_->clock);
  }

 private:
  bool aware_;
  double rate_;
  bool plain_ = false;
  bool first_ = false;
  Server* server_ = nullptr;
  Array<float> pulled_, pushed_, settled_;
};

}  // namespace

MGCOMPARE_STRATEGY(AsyncSgd, "async_sgd", "parameter server in host memory, ranks run freely, staleness-aware rates")
