// Averaging on the CPU through host memory. `gradients`: TensorFlow's tower, with a master copy and its optimiser in host
// memory. `parameters`: each rank updates its own copy, and every k steps the copies and their optimisers' state are
// averaged, weighted by samples (Zinkevich et al. 2010; Su and Chen, arXiv 1507.01239).
// On several hosts the first rank gathers the vectors of all, adds them alone, in the same order, and sends the result back.

#include <algorithm>
#include <cmath>
#include <string>

#include "mgcompare/local_steps.h"
#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

// Shared by the ranks of a host, in host memory (page-locked if devices are GPUs).
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
        linear_(facts.optimizer == "sgd"), one_host_(facts.hosts == 1), ranks_(static_cast<std::size_t>(facts.ranks)) {
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
    return traits;
  }

  void start(Replica& replica, Group& group) override {
    bool leads_host = false;
    host_ = &group.shared<Host>([&] {
      leads_host = true;
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
    rank_ = static_cast<std::size_t>(group.rank());
    first_ = rank_ == 0;
    for (const Vec state : parameters_ ? replica.optimizer().state() : std::vector<Vec>()) averaged_.push_back(state);
    averaged_.push_back(parameters_ ? replica.weights() : replica.gradients());
    std::size_t elements = 0;
    for (const Vec vector : averaged_) elements += vector.size();
    mine(group) = host_array<float>(replica.device(), elements);
    if (!parameters_) sum_ = host_array<float>(replica.device(), elements);
    else if (leads_host) host_->mean = host_array<float>(replica.device(), elements);
    leads_host_ = leads_host;
    group.barrier();
    if (!one_host_) prepare_gathering(replica, elements);
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
    average(replica, group);
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
    collect(replica, group);
    if (first_) host_->optimizer->advance();
    group.barrier();
    // Each rank that adds does so for one range of the vector, in rank order: the result does not depend on their number.
    const Range range = added_range(host_->master.size());
    const Vec sum = sum_.span();
    std::copy_n(host_->from_rank[0].data() + range.begin, range.size(), sum.data() + range.begin);
    for (std::size_t rank = 1; rank < ranks_; ++rank) {
      const float* from = host_->from_rank[rank].data();
      for (std::size_t i = range.begin; i < range.end; ++i) sum[i] += from[i];
    }
    if (range.size() > 0) host_->optimizer->apply(host_->master.span(), sum, range, batch);
    group.barrier();
    if (one_host_ || first_) copy_to_device(device, replica.weights(), host_->master.span());
    if (!one_host_) group.broadcast(replica.weights(), 0);
    device.synchronize();
  }

  void average_parameters(Replica& replica, Group& group, const Batch& batch) {
    local_.step(replica, batch);
    if (local_.count() < every_) return;
    average(replica, group);
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

  // Memory of the first rank for the vectors of ranks on other hosts, and of each rank for the mean.
  void prepare_gathering(Replica& replica, std::size_t elements) {
    Device& device = replica.device();
    weight_ = device_array<float>(device, 1);
    if (parameters_) mean_ = device_array<float>(device, elements);
    if (!first_) return;
    std::size_t largest = 1;
    for (const Vec vector : averaged_) largest = std::max(largest, vector.size());
    gathered_ = device_array<float>(device, largest * ranks_);
    for (Array<float>& from : host_->from_rank)
      if (from.size() == 0) from = host_array<float>(device, elements);
  }

  // Copies this rank's vectors to host memory. On several hosts those of all ranks are in the host memory of the first one.
  void collect(Replica& replica, Group& group) {
    Device& device = replica.device();
    std::size_t begin = 0;
    for (const Vec vector : averaged_) {
      const Range part{begin, begin + vector.size()};
      if (one_host_ || parameters_) copy_to_host(device, mine(group).span().slice(part), vector);
      if (!one_host_) gather(device, group, vector, [&](std::size_t rank) { return host_->from_rank[rank].span().slice(part); });
      begin = part.end;
    }
    device.synchronize();
  }

  // The first rank's `to(k)` becomes the vector of rank k.
  template <class To> void gather(Device& device, Group& group, Vec vector, To to) {
    const std::size_t size = vector.size();
    const Vec all = first_ ? gathered_.span().slice({0, ranks_ * size}) : Vec();
    group.gather(vector, all, 0);
    for (std::size_t rank = 0; first_ && rank < ranks_; ++rank) copy_to_host(device, to(rank), all.slice({rank * size, (rank + 1) * size}));
  }

  // Computes the mean over ranks of all averaged vectors, weighted by samples, in host memory. It is valid until the next call.
  void average(Replica& replica, Group& group) {
    Device& device = replica.device();
    float weight = local_.weight();
    if (one_host_) {
      host_->weights[static_cast<std::size_t>(group.rank())] = weight;
    } else {
      copy_to_device(device, weight_.span(), ConstVec(&weight, 1));
      gather(device, group, weight_, [&](std::size_t rank) { return Vec(&host_->weights[rank], 1); });
    }
    collect(replica, group);
    group.barrier();
    const Range range = added_range(host_->mean.size());
    float* const mean = host_->mean.data();
    std::fill(mean + range.begin, mean + range.end, 0.0f);
    for (std::size_t rank = 0; rank < ranks_ && range.size() > 0; ++rank) {
      const float rank_weight = host_->weights[rank];
      const float* from = host_->from_rank[rank].data();
      for (std::size_t i = range.begin; i < range.end; ++i) mean[i] += rank_weight * from[i];
    }
    if (!one_host_) {
      if (first_) copy_to_device(device, mean_.span(), host_->mean.span());
      group.broadcast(mean_.span(), 0);
      if (leads_host_ && !first_) copy_to_host(device, host_->mean.span(), mean_.span());
      device.synchronize();
    }
    group.barrier();
  }

  // What this rank adds: a share, or on several hosts all on the first rank.
  Range added_range(std::size_t size) const {
    if (one_host_) return share(size, rank_, ranks_);
    return first_ ? Range{0, size} : Range{0, 0};
  }

  bool parameters_;
  std::size_t every_;
  bool linear_, one_host_;
  std::size_t ranks_, rank_ = 0;
  Host* host_ = nullptr;
  bool first_ = false, leads_host_ = false;
  std::vector<Vec> averaged_;
  Array<float> sum_, settled_;
  Array<float> gathered_, mean_, weight_;  // on several hosts
  LocalSteps local_;                 // since the last averaging
};

}  // namespace

MGCOMPARE_STRATEGY(Tower, "tower", "averaging on the CPU through host memory: gradients (TensorFlow's tower) or parameters")
