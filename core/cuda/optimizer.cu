#include "cuda/optimizer.h"

#include <algorithm>

#include "cuda/launch.h"
#include "model/update_rules.h"

namespace mgcompare::cuda {
namespace {

// Weight decay of each element. Parts are contiguous: each begins where the previous one ends.
struct Decays {
  const std::uint32_t* ends;
  const float* decays;
  std::uint32_t parts;              // 0: no part decays
  __device__ float at(std::size_t i) const {
    if (parts == 0) return 0;
    std::uint32_t low = 0, high = parts - 1;
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (i < ends[middle]) high = middle;
      else low = middle + 1;
    }
    return decays[low];
  }
};

struct Vectors {
  float* weights;
  const float* gradients;
  float* first;
  float* second;
};

// In a captured step the learning rate and Adam's step number are only known at replay. Uncaptured steps also read the step
// number from the device, so that both give identical results.
struct UpdateState {
  CapturedStep captured_step;
  float rate_scale;
  const unsigned long long* updates;
  double beta1, beta2;
};

template <class Rule> __global__ void apply_rule(Rule rule, UpdateState update, Decays decays, Vectors v, Range range) {
  wait_for_previous_kernel();
  rule.rate = update.captured_step.learning_rate(rule.rate, update.rate_scale);
  if constexpr (std::is_same_v<Rule, AdamRule>) {
    const double steps = fmax(1.0, static_cast<double>(*update.updates));
    rule.unbias1 = static_cast<float>(1 / (1 - pow(update.beta1, steps)));
    rule.unbias2 = static_cast<float>(1 / (1 - pow(update.beta2, steps)));
  }
  for (std::size_t i = range.begin + first_index(); i < range.end; i += index_stride()) {
    rule.decay = decays.at(i);
    float weight = v.weights[i];
    if constexpr (Rule::kStates == 0) rule(weight, v.gradients[i]);
    if constexpr (Rule::kStates == 1) rule(weight, v.gradients[i], v.first[i]);
    if constexpr (Rule::kStates == 2) rule(weight, v.gradients[i], v.first[i], v.second[i]);
    v.weights[i] = weight;
  }
}

__global__ void count_up(unsigned long long* updates) { ++*updates; }

class CudaOptimizer : public CountedOptimizer {
 public:
  CudaOptimizer(CudaDevice& device, const OptimizerConfig& config, const std::vector<Part>& parts)
      : device_(device), config_(config), counter_(device, 1) {
    std::vector<std::uint32_t> ends;
    std::vector<float> decays;
    for (const Part& part : parts) {
      ends.push_back(static_cast<std::uint32_t>(part.range.end));
      decays.push_back(static_cast<float>(decay_of(part, config)));
    }
    for (int i = 0; i < optimizer_states(config); ++i)
      states_.emplace_back(device, parts.empty() ? 0 : parts.back().range.end);
    ends_ = device_array<std::uint32_t>(device, ends.size());
    decays_ = device_array<float>(device, decays.size());
    any_decays_ = std::any_of(decays.begin(), decays.end(), [](float decay) { return decay != 0; });
    device.copy_to_device(ends_.data(), ends.data(), ends.size() * sizeof(std::uint32_t));
    device.copy_to_device(decays_.data(), decays.data(), decays.size() * sizeof(float));
    device.synchronize();
  }

  std::vector<Vec> state() override {
    std::vector<Vec> spans;
    for (const Array<float>& state : states_) spans.push_back(state.span());
    return spans;
  }
  void reset() override {
    for (const Array<float>& state : states_) device_.zero(state.data(), state.size() * sizeof(float));
    updates_.forgotten = updates_.made;
    device_.zero(counter_.data(), sizeof(unsigned long long));
  }
  void advance() override {
    ++updates_.made;
    if (config_.kind == OptimizerKind::adam) {
      count_up<<<1, 1, 0, device_.exchange_stream()>>>(counter_.data());
      check(cudaGetLastError(), "counting an update");
    }
  }
  UpdateCount updates() const override { return updates_; }
  void set_updates(const UpdateCount& updates) override {
    updates_ = updates;
    const unsigned long long value = updates.since_reset();
    device_.copy_to_device(counter_.data(), &value, sizeof(value));
    device_.synchronize();
  }

  void apply(Vec weights, ConstVec gradients, Range range, const Batch& batch, double rate_scale) override {
    if (range.size() == 0) return;
    // Rounded as in captured steps, which multiply on the device.
    const float rate = static_cast<float>(batch.learning_rate()) * static_cast<float>(rate_scale);
    const auto momentum = static_cast<float>(config_.momentum), epsilon = static_cast<float>(config_.epsilon);
    const Call call{weights, gradients, range, static_cast<float>(rate_scale)};
    if (config_.kind == OptimizerKind::adam) {
      run(AdamRule{rate, 0, static_cast<float>(config_.beta1), static_cast<float>(config_.beta2), epsilon, 1, 1}, call);
    } else if (config_.kind == OptimizerKind::adagrad) {
      run(AdaGradRule{rate, 0, epsilon}, call);
    } else if (config_.kind == OptimizerKind::adadelta) {
      run(AdadeltaRule{rate, 0, static_cast<float>(config_.rho), epsilon}, call);
    } else if (config_.momentum == 0) {
      run(SgdRule{rate, 0}, call);
    } else if (config_.nesterov) {
      run(NesterovRule{rate, 0, momentum}, call);
    } else {
      run(MomentumRule{rate, 0, momentum}, call);
    }
  }

 private:
  struct Call {
    Vec weights;
    ConstVec gradients;
    Range range;
    float rate_scale;
  };

  template <class Rule> void run(const Rule& rule, const Call& call) {
    const Decays decays{ends_.data(), decays_.data(), any_decays_ ? static_cast<std::uint32_t>(ends_.size()) : 0};
    const UpdateState update{device_.captured_step(), call.rate_scale, counter_.data(), config_.beta1, config_.beta2};
    const Vectors vectors{call.weights.data(), call.gradients.data(), states_.empty() ? nullptr : states_[0].data(),
                          states_.size() < 2 ? nullptr : states_[1].data()};
    launch(device_.exchange_stream(), blocks_for(call.range.size()), kThreads, 0, apply_rule<Rule>, rule, update, decays,
           vectors, call.range);
  }

  CudaDevice& device_;
  OptimizerConfig config_;
  Array<unsigned long long> counter_;  // updates since the last reset, in device memory
  Array<std::uint32_t> ends_;
  Array<float> decays_;             // of each part
  bool any_decays_ = false;
  std::vector<Array<float>> states_;
  UpdateCount updates_;
};

}  // namespace

std::unique_ptr<CountedOptimizer> make_optimizer(CudaDevice& device, const OptimizerConfig& config,
                                                 const std::vector<Part>& parts) {
  return std::make_unique<CudaOptimizer>(device, config, parts);
}

}  // namespace mgcompare::cuda
