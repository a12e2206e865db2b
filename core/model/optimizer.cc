#include "model/optimizer.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "model/update_rules.h"

namespace mgcompare {
namespace {

template <class Rule> void apply_rule(const Rule& rule, Vec weights, ConstVec gradients, const std::vector<Vec>& states,
                                      Range range) {
  float* const weight = weights.data();
  const float* const gradient = gradients.data();
  if constexpr (Rule::kStates == 0) {
    for (std::size_t i = range.begin; i < range.end; ++i) rule(weight[i], gradient[i]);
  } else if constexpr (Rule::kStates == 1) {
    float* const first = states[0].data();
    for (std::size_t i = range.begin; i < range.end; ++i) rule(weight[i], gradient[i], first[i]);
  } else {
    float* const first = states[0].data();
    float* const second = states[1].data();
    for (std::size_t i = range.begin; i < range.end; ++i) rule(weight[i], gradient[i], first[i], second[i]);
  }
}

class HostOptimizer : public CountedOptimizer {
 public:
  HostOptimizer(const OptimizerConfig& config, const std::vector<Part>& parts, Device* memory)
      : config_(config), parts_(parts) {
    std::size_t size = 0;
    for (const Part& part : parts) size = std::max(size, part.range.end);
    for (int i = 0; i < optimizer_states(config); ++i) {
      if (memory != nullptr) {
        arrays_.emplace_back(*memory, size);
        states_.push_back(arrays_.back().span());
      } else {
        vectors_.emplace_back(size, 0.0f);
        states_.push_back({vectors_.back().data(), size});
      }
    }
  }

  std::vector<Vec> state() override { return states_; }
  void reset() override {
    for (Vec state : states_) std::fill(state.begin(), state.end(), 0.0f);
    forgotten_ = made_.load();
  }
  void advance() override { ++made_; }
  UpdateCount updates() const override { return {made_, forgotten_}; }
  void set_updates(const UpdateCount& updates) override {
    made_ = updates.made;
    forgotten_ = updates.forgotten;
  }

  void apply(Vec weights, ConstVec gradients, Range range, const Batch& batch, double rate_scale) override {
    const auto rate = static_cast<float>(batch.learning_rate() * rate_scale);
    for (const Part& part : parts_) {
      const Range overlap{std::max(range.begin, part.range.begin), std::min(range.end, part.range.end)};
      if (overlap.begin >= overlap.end) continue;
      apply_part(weights, gradients, overlap, rate, static_cast<float>(decay_of(part, config_)));
    }
  }

 private:
  void apply_part(Vec weights, ConstVec gradients, Range range, float rate, float decay) const {
    const auto momentum = static_cast<float>(config_.momentum);
    const auto epsilon = static_cast<float>(config_.epsilon);
    if (config_.kind == OptimizerKind::adam) {
      const auto steps = static_cast<double>(std::max<std::uint64_t>(updates().since_reset(), 1));
      apply_rule(AdamRule{rate, decay, static_cast<float>(config_.beta1), static_cast<float>(config_.beta2), epsilon,
                          static_cast<float>(1 / (1 - std::pow(config_.beta1, steps))),
                          static_cast<float>(1 / (1 - std::pow(config_.beta2, steps)))},
                 weights, gradients, states_, range);
    } else if (config_.kind == OptimizerKind::adagrad) {
      apply_rule(AdaGradRule{rate, decay, epsilon}, weights, gradients, states_, range);
    } else if (config_.kind == OptimizerKind::adadelta) {
      apply_rule(AdadeltaRule{rate, decay, static_cast<float>(config_.rho), epsilon}, weights, gradients, states_, range);
    } else if (config_.momentum == 0) {
      apply_rule(SgdRule{rate, decay}, weights, gradients, states_, range);
    } else if (config_.nesterov) {
      apply_rule(NesterovRule{rate, decay, momentum}, weights, gradients, states_, range);
    } else {
      apply_rule(MomentumRule{rate, decay, momentum}, weights, gradients, states_, range);
    }
  }

  OptimizerConfig config_;
  std::vector<Part> parts_;
  std::vector<Array<float>> arrays_;
  std::vector<std::vector<float>> vectors_;
  std::vector<Vec> states_;
  // Read by all threads that apply ranges; written between updates.
  std::atomic<std::uint64_t> made_ = 0, forgotten_ = 0;
};

}  // namespace

double decay_of(const Part& part, const OptimizerConfig& config) {
  return part.decays ? part.weight_decay.value_or(config.weight_decay) : 0;
}

int optimizer_states(const OptimizerConfig& config) {
  if (config.kind == OptimizerKind::adam || config.kind == OptimizerKind::adadelta) return 2;
  if (config.kind == OptimizerKind::adagrad) return 1;
  return config.momentum == 0 ? 0 : 1;
}

std::unique_ptr<Optimizer> make_host_optimizer(const OptimizerConfig& config, const std::vector<Part>& parts,
                                               Device* memory) {
  return std::make_unique<HostOptimizer>(config, parts, memory);
}

}  // namespace mgcompare
