// Averaging on the CPU through host memory. `gradients`: TensorFlow's tower, with a master copy and its optimiser in host
// memory. `parameters`: each rank updates its own copy, and every k steps the copies and their optimisers' state are
// averaged, weighted by samples (Zinkevich et al. 2010; Su and Chen, arXiv 1507.01239).

#include <algorithm>
#include <cmath>
#include <string>

#include "mgcompare/local_steps.h"
#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

// Shared by all ranks, in host memory (page-locked if devices are GPUs).
struct Host {
  Array<float> master;
  std::unique_ptr<Optimizer> optimizer;
  std::vector<Array<float>> from_rank;
  // For parameters: each rank's weight in the mean, and the mean.
  std::vector<float> weights;
  Array<float> mean;
};

class Tower : public Strategy {
 public:
  Tower(Options& options, const Facts& facts)
      : parameters_(options.choice("average", "gradients", "what is averaged on the CPU",
                                   {"gradients", "parameters"}) == "parameters"),
        every_(static_cast<std::size_t>(options.integer("every", 1, "steps from one averaging to the next", 1))),
        linear_(facts.optimizer == "sgd"), ranks_(static_cast<std::size_t>(facts.ranks)) {
    if (!parameters_ && every_ != 1) options.refuse("every", "goes with average: parameters; gradients are averaged in each step");
    if (every_ > facts.steps_per_epoch && facts.steps_per_epoch > 0)
      options.refuse("every", "is longer than the epoch of " + std::to_string(facts.steps_per_epoch) + " steps: at most " + std::to_string(facts.steps_per_epoch));
  }

  Traits traits() const override {
    Traits traits;
    // Averaging parameters equals averaging gradients only if the update is linear in the gradient.
    const bool exact = !parameters_ || ranks_ == 1 || (every_ == 1 && linear_);
    traits.promise = exact ? Traits::Promise::exact : Traits::Promise::approximate;
    traits.in_rank_order = !parameters_;
    traits.one_host = true;
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    host_ = &group.shared<Host>([&] {
      auto host = std::make_unique<Host>();
      if (!parameters_) {
        host->master = host_array<float>(replica.device(), replica.weights().size());
        host->optimizer = replica.host_optimizer();
        copy_to_host(replica.device(), host->master.span(), replica.weights());
        replica.device().synchronize();
      }
      host->from_rank.resize(static_cast<std::size_t>(group.size()));
      host->weights.resize(static_cast<std::size_t>(group.size()));
      return host;
    });
    first_ = group.rank() == 0;
    for (const Vec state : parameters_ ? replica.optimizer().state() : std::vector<Vec>()) averaged_.push_back(state);
    averaged_.push_back(parameters_ ? replica.weights() : replica.gradients());
    std::size_t elements = 0;
    for (const Vec vector : averaged_) elements += vector.size();
    mine(group) = host_array<float>(replica.device(), elements);
    if (!parameters_) sum_ = host_array<float>(replica.device(), elements);
    else if (first_) host_->mean = host_array<float>(replica.device(), elements);
    group.barrier();
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    if (parameters_) average_parameters(replica, group, batch);
    else average_gradients(replica, group, batch);
  }

  Vec settle(Replica& replica, Group& group) override {
    if (!parameters_) return replica.weights();
    report_drift(replica, group);
    if (local_.count() == 0) return replica.weights();
    // Within a period: the mean as if the ranks averaged now. Training continues with the copies.
    if (settled_.empty()) settled_ = device_array<float>(replica.device(), replica.weights().size());
    collect(replica, group);
    copy_to_device(replica.device(), settled_.span(), host_->mean.span().slice(weights_of(replica)));
    replica.device().synchronize();
    return settled_;
  }

  void save(Archive& archive) override {
    local_.save(archive);
    if (!parameters_ && first_) archive.put_host("master", host_->master.span());
  }
  void restore(Archive& archive) override {
    local_.restore(archive);
    // There is one master copy for all ranks; rank 0 restores it.
    if (!parameters_ && first_) archive.get_host("master", host_->master.span());
  }

 private:
  Array<float>& mine(Group& group) { return host_->from_rank[static_cast<std::size_t>(group.rank())]; }

  void average_gradients(Replica& replica, Group& group, const Batch& batch) {
    Device& device = replica.device();
    replica.backward(batch);
    copy_to_host(device, mine(group).span(), replica.gradients());
    device.synchronize();
    if (group.rank() == 0) host_->optimizer->advance();
    group.barrier();
    // Each rank adds one range of the vector, in rank order, so the result does not depend on the number of threads.
    const Range range = share(host_->master.size(), static_cast<std::size_t>(group.rank()), ranks_);
    const Vec sum = sum_.span();
    std::copy_n(host_->from_rank[0].data() + range.begin, range.size(), sum.data() + range.begin);
    for (std::size_t rank = 1; rank < ranks_; ++rank) {
      const float* from = host_->from_rank[rank].data();
      for (std::size_t i = range.begin; i < range.end; ++i) sum[i] += from[i];
    }
    host_->optimizer->apply(host_->master.span(), sum, range, batch);
    group.barrier();
    copy_to_device(device, replica.weights(), host_->master.span());
    device.synchronize();
  }

  void average_parameters(Replica& replica, Group& group, const Batch& batch) {
    local_.step(replica, batch);
    if (local_.count() < every_) return;
    collect(replica, group);
    std::size_t begin = 0;
    for (const Vec vector : averaged_) {
      copy_to_device(replica.device(), vector, host_->mean.span().slice({begin, begin + vector.size()}));
      begin += vector.size();
    }
    replica.device().synchronize();
    local_.begin();
  }

  // The weights are the last of the averaged vectors.
  Range weights_of(Replica& replica) const {
    return {host_->mean.size() - replica.weights().size(), host_->mean.size()};
  }

  // The drift at the last averaging. Its vectors are still on the host, so training has no extra cost.
  void report_drift(Replica& replica, Group& group) {
    const Range weights = weights_of(replica);
    double gap = 0, size = 0;
    for (std::size_t i = weights.begin; i < weights.end; ++i) {
      const double mean = static_cast<double>(host_->mean[i]), difference = static_cast<double>(mine(group)[i]) - mean;
      gap += difference * difference;
      size += mean * mean;
    }
    if (ranks_ > 1 && size > 0) replica.metric("drift", std::sqrt(gap / size));
  }

  // Computes the mean over ranks of all averaged vectors, weighted by samples, in host memory. It is valid until the next
  // call. Each rank computes one range.
  void collect(Replica& replica, Group& group) {
    std::size_t begin = 0;
    for (const Vec vector : averaged_) {
      copy_to_host(replica.device(), mine(group).span().slice({begin, begin + vector.size()}), vector);
      begin += vector.size();
    }
    replica.device().synchronize();
    host_->weights[static_cast<std::size_t>(group.rank())] = local_.weight();
    group.barrier();
    const Range range = share(host_->mean.size(), static_cast<std::size_t>(group.rank()), ranks_);
    float* const mean = host_->mean.data();
    std::fill(mean + range.begin, mean + range.end, 0.0f);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      const float weight = host_->weights[rank];
      const float* from = host_->from_rank[rank].data();
      for (std::size_t i = range.begin; i < range.end; ++i) mean[i] += weight * from[i];
    }
    group.barrier();
  }

  bool parameters_;
  std::size_t every_;
  bool linear_;
  std::size_t ranks_;
  Host* host_ = nullptr;
  bool first_ = false;
  std::vector<Vec> averaged_;
  Array<float> sum_, settled_;
  LocalSteps local_;                 // since the last averaging
};

}  // namespace

MGCOMPARE_STRATEGY(Tower, "tower", "averaging on the CPU through host memory: gradients (TensorFlow's tower) or parameters")
