#pragma once

// The parameter server: the state that all ranks share, and one rank's access to it. A server on the host is host memory
// (page-locked if devices are GPUs); the rank that holds a stripe's lock computes on it with its CPU thread. A server on a
// device is memory of rank 0's device; the rank that holds the lock gets the stripe, computes on it with its own device and
// puts it back before it releases the lock. The lock orders the devices, stream order does the rest.

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "mgcompare/arithmetic.h"
#include "mgcompare/strategy.h"
#include "rules.h"

namespace async_sgd {

using namespace mgcompare;

// A part of the model with its own lock and clock.
struct Stripe {
  Range range;
  std::uint64_t updates = 0;   // the clock
  std::uint64_t came = 0;      // gradients received
  std::uint64_t gathered = 0;  // gradients in the sum that await an update
  std::uint64_t resting = 0;   // ranks without samples left in this epoch
  std::optional<Batch> last;   // of the gradients in the sum
};

struct Server {
  std::vector<Stripe> stripes;
  // On the host; empty and null for a server on a device.
  Array<float> weights, sum, mean_square;
  std::unique_ptr<Optimizer> optimizer;
  // For access without locks: updates begun, and ranks that write now.
  std::atomic<std::uint64_t> clock = 0, writing = 0;
  // Bounded staleness: the steps of each rank in this epoch, and the number of epochs begun.
  std::vector<std::uint64_t> steps;
  std::uint64_t round = 0;
};

inline std::vector<Stripe> make_stripes(std::size_t elements, std::size_t count) {
  std::vector<Stripe> stripes(std::clamp<std::size_t>(count, 1, std::max<std::size_t>(1, elements)));
  for (std::size_t s = 0; s < stripes.size(); ++s) stripes[s].range = share(elements, s, stripes.size());
  return stripes;
}

// The vectors that a trial needs, and who keeps them.
struct Needs {
  bool on_device = false;
  bool sum = false;           // several gradients make one update
  bool mean_square = false;   // of gradients, for adaptive delay compensation
  bool own_optimizer = false; // each rank has its own momentum
  bool optimizer = true;      // false: ranks update their own copies, and the server adds the changes
  bool atomic = false;        // ranks access the weights without a lock
  bool plain = false;
};

// The constructor is collective. Calls with a range need the lock of its stripe, if stripes have locks.
class Reach {
 public:
  Reach(Replica& replica, Group& group, Server& server, const Needs& needs)
      : device_(replica.device()), group_(group), server_(server), needs_(needs), first_(group.rank() == 0) {
    const std::size_t n = replica.weights().size();
    if (needs.on_device) {
      own_weights_ = device_array<float>(device_, n);
      pulled_ = device_array<float>(device_, n);
      own_sum_ = device_array<float>(device_, needs.sum ? n : 0);
      own_mean_square_ = device_array<float>(device_, needs.mean_square ? n : 0);
      weights_ = own_weights_, sum_ = own_sum_, mean_square_ = own_mean_square_;
      if (first_) copy(device_, weights_, replica.weights());
      if (needs.optimizer) own_optimizer_ = replica.device_optimizer(needs.plain);
      device_.synchronize();
      shared_ = {weights_};
      if (needs.sum) shared_.push_back(sum_);
      if (needs.mean_square) shared_.push_back(mean_square_);
      if (needs.optimizer && !needs.own_optimizer)
        for (const Vec state : own_optimizer_->state()) shared_.push_back(state);
      for (const Vec vector : shared_) windows_.push_back(group.expose(first_ ? vector : Vec()));
    } else {
      weights_ = server.weights, sum_ = server.sum, mean_square_ = server.mean_square;
      pulled_ = host_array<float>(device_, n);
      host_gradient_ = host_array<float>(device_, n);
      if (needs.optimizer && needs.own_optimizer) own_optimizer_ = replica.host_optimizer(needs.plain);
    }
  }

  Optimizer& optimizer() { return own_optimizer_ != nullptr ? *own_optimizer_ : *server_.optimizer; }
  Vec weights() const { return weights_; }
  Vec sum() const { return sum_; }
  Vec mean_square() const { return mean_square_; }
  Vec gradient() const { return gradient_; }
  Vec pulled() const { return pulled_; }

  // f(i) for the elements of `range`, on the device or on the host, wherever the vectors are.
  template <class F> void each(Range range, F f) {
    if (needs_.on_device) for_each(device_, range.size(), f);
    else for (std::size_t i = 0; i < range.size(); ++i) f(i);
  }

  // Makes gradient() this vector of the rank's device. Waits for the device.
  void take_gradient(Vec gradient) {
    gradient_ = needs_.on_device ? gradient : host_gradient_.span();
    if (!needs_.on_device) copy_to_host(device_, gradient_, gradient);
    device_.synchronize();
  }

  // Between open() and close() the server's vectors in this range are valid here. close() writes changes back.
  void open(Range range) {
    if (!needs_.on_device || first_) return;
    for (std::size_t i = 0; i < shared_.size(); ++i) server().get(windows_[i], range.begin, shared_[i].slice(range));
  }
  void close(Range range) {
    if (!needs_.on_device) return;
    for (std::size_t i = 0; i < shared_.size() && !first_; ++i)
      server().put(windows_[i], range.begin, shared_[i].slice(range));
    device_.synchronize();
  }
  // Between open() and close(): pulls the server's current weights.
  void keep(Range range) {
    if (needs_.on_device) copy(device_, pulled().slice(range), weights_.slice(range));
    else std::copy_n(weights_.data() + range.begin, range.size(), pulled_.data() + range.begin);
  }
  // Pulls without open() and close().
  void pull(Range range) {
    if (needs_.on_device) {
      // Without a lock other ranks may add at the same time; get() reads each element atomically, also on the owner.
      if (first_ && !needs_.atomic) copy(device_, pulled().slice(range), weights_.slice(range));
      else server().get(windows_[0], range.begin, pulled().slice(range));
      device_.synchronize();
    } else if (needs_.atomic) {
      copy_atomically(pulled_.data() + range.begin, weights_.data() + range.begin, range.size());
    } else {
      keep(range);
    }
  }
  // Adds gradient() to the server's weights, atomically per element if there is no lock. On a CPU that takes twenty times
  // as long as plain addition.
  void add(Range range) {
    float* const to = weights_.data() + range.begin;
    if (needs_.on_device) {
      server().add(windows_[0], range.begin, gradient_.slice(range));
      device_.synchronize();
    } else if (needs_.atomic) {
      add_atomically(to, gradient_.data() + range.begin, range.size());
    } else {
      each(range, AddScaled{to, gradient_.data() + range.begin, 1});
    }
  }

  // Copies the pulled weights to the rank's device.
  void deliver(Vec weights) {
    if (needs_.on_device) copy(device_, weights, pulled_.span());
    else copy_to_device(device_, weights, pulled_.span());
  }
  // Copies the server's weights to the rank's device, while no rank changes them.
  void read(Vec weights) {
    if (!needs_.on_device) copy_to_device(device_, weights, weights_);
    else if (first_) copy(device_, weights, weights_);
    else server().get(windows_[0], 0, weights);
    device_.synchronize();
  }
  bool on_device() const { return needs_.on_device; }

 private:
  Group::Peer server() { return group_.peer(0); }

  Device& device_;
  Group& group_;
  Server& server_;
  Needs needs_;
  bool first_;
  Array<float> own_weights_, own_sum_, own_mean_square_, host_gradient_, pulled_;
  std::unique_ptr<Optimizer> own_optimizer_;
  Vec weights_, sum_, mean_square_, gradient_;
  std::vector<Vec> shared_;    // on rank 0 the server's own vectors, elsewhere copies
  std::vector<int> windows_;
};

}  // namespace async_sgd
