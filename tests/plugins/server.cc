// A parameter server at free pace. The environment variable SERVER_LIE names its lie: it has no option, because `verify` judges rates and sums
// with default options only. For CPU devices only.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

// Of all ranks. Only in exclusive sections.
struct Weights {
  Array<float> values;
  std::unique_ptr<Optimizer> optimizer;
  std::uint64_t updates = 0, pushes = 0;
};

std::string lie() {
  const char* const named = std::getenv("SERVER_LIE");
  return named == nullptr ? "" : named;
}

class Server : public Strategy {
 public:
  Server(Options&, const Facts& facts) : ranks_(facts.ranks), ordered_(facts.ordered) {}

  Traits traits() const override {
    Traits traits;
    traits.pace = Traits::Pace::free;
    traits.devices = {DeviceKind::cpu};
    traits.one_host = lie_ != "one on each host" && lie_ != "broadcasts the first";
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    const std::size_t size = replica.weights().size();
    rank_ = group.rank();
    server_ = &group.shared<Weights>([&] {
      auto server = std::make_unique<Weights>();
      server->values = host_array<float>(replica.device(), size);
      server->optimizer = replica.host_optimizer();
      std::copy(replica.weights().begin(), replica.weights().end(), server->values.data());
      return server;
    });
    gradient_ = host_array<float>(replica.device(), size);
    settled_ = device_array<float>(replica.device(), size);
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    group.exclusive(0, [&] {
      copy_to_device(replica.device(), replica.weights(), server_->values.span());
      pulled_ = server_->updates;
    });
    replica.backward(batch, [this](Vec slice) {
      if (lie_ == "scales slices")
        for (float& value : slice) value *= 3;
    }, Scale::own_share);
    copy_to_host(replica.device(), gradient_.span(), replica.gradients());
    group.exclusive(0, [&] {
      ++server_->pushes;
      if (lie_ == "drops in real time" && !ordered_ && ranks_ > 1 && server_->pushes % 2 == 0) return;
      if (lie_ == "takes noise back") add_noise();
      server_->optimizer->update(server_->values, gradient_.span(), batch, ranks_ > 1 ? rate_scale(batch) : 1);
      ++server_->updates;
    });
  }

  Vec settle(Replica&, Group& group) override {
    std::copy(server_->values.span().begin(), server_->values.span().end(), settled_.data());
    if (lie_ == "broadcasts the first") group.broadcast(settled_.span(), 0);  // of several servers
    return settled_;
  }

  void save(Archive& archive) override {
    if (rank_ == 0) archive.put_host("weights", server_->values.span());
  }
  void restore(Archive& archive) override {
    if (rank_ == 0) archive.get_host("weights", server_->values.span());
  }

 private:
  // The next gradient takes it back.
  void add_noise() {
    const float noise = server_->pushes % 4 == 1 ? 1e-3F : server_->pushes % 4 == 2 ? -1e-3F : 0;
    for (std::size_t i = 0; i < gradient_.size(); ++i) gradient_.data()[i] += i % 2 == 0 ? noise : -noise;
  }

  // Without a lie, less for stale gradients.
  double rate_scale(const Batch& batch) const {
    if (lie_ == "larger") return batch.step() % 2 == 0 ? 1 : 1.1;
    if (lie_ == "zero") return batch.step() % 4 == 1 ? 0 : 1;
    if (lie_ == "small for others") return rank_ == 0 ? 1 : 0.001;
    return 1 / static_cast<double>(1 + server_->updates - pulled_);
  }

  const std::string lie_ = lie();
  const int ranks_;
  const bool ordered_;
  int rank_ = 0;
  Weights* server_ = nullptr;
  std::uint64_t pulled_ = 0;        // updates when it did
  Array<float> gradient_, settled_;
};

}  // namespace

MGCOMPARE_STRATEGY(Server, "server", "a parameter server, for tests")
