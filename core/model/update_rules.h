#pragma once

// The arithmetic of optimisers for one element, compiled by g++ for the CPU and by nvcc for the GPU, so that both use the
// same formulas. `decay` is 0 for parts without weight decay. State variables start at 0.

#include <cmath>

#include "mgcompare/types.h"

namespace mgcompare {

// The learning rate is inside the momentum (as in MXNet): a change of the rate does not rescale the momentum accumulated before.
struct SgdRule {
  static constexpr int kStates = 0;
  float rate, decay;
  MGCOMPARE_FUNCTION void operator()(float& weight, float gradient) const {
    weight += -rate * decay * weight - rate * gradient;
  }
};

struct MomentumRule {
  static constexpr int kStates = 1;
  float rate, decay, momentum;
  MGCOMPARE_FUNCTION void operator()(float& weight, float gradient, float& velocity) const {
    velocity = momentum * velocity - rate * decay * weight - rate * gradient;
    weight += velocity;
  }
};

struct NesterovRule {
  static constexpr int kStates = 1;
  float rate, decay, momentum;
  MGCOMPARE_FUNCTION void operator()(float& weight, float gradient, float& velocity) const {
    const float step = -rate * decay * weight - rate * gradient;
    velocity = momentum * velocity + step;
    weight += momentum * velocity + step;
  }
};

struct AdamRule {
  static constexpr int kStates = 2;
  float rate, decay, beta1, beta2, epsilon;
  float unbias1, unbias2;  // 1 / (1 - beta^t)
  MGCOMPARE_FUNCTION void operator()(float& weight, float gradient, float& first, float& second) const {
    const float slope = gradient + decay * weight;
    first = beta1 * first + (1 - beta1) * slope;
    second = beta2 * second + (1 - beta2) * slope * slope;
    weight -= rate * (first * unbias1) / (std::sqrt(second * unbias2) + epsilon);
  }
};

struct AdaGradRule {
  static constexpr int kStates = 1;
  float rate, decay, epsilon;
  MGCOMPARE_FUNCTION void operator()(float& weight, float gradient, float& sum) const {
    const float slope = gradient + decay * weight;
    sum += slope * slope;
    weight -= rate * slope / (std::sqrt(sum) + epsilon);
  }
};

struct AdadeltaRule {
  static constexpr int kStates = 2;
  float rate, decay, rho, epsilon;
  MGCOMPARE_FUNCTION void operator()(float& weight, float gradient, float& slopes, float& steps) const {
    const float slope = gradient + decay * weight;
    slopes = rho * slopes + (1 - rho) * slope * slope;
    const float step = slope * std::sqrt(steps + epsilon) / std::sqrt(slopes + epsilon);
    weight -= rate * step;
    steps = rho * steps + (1 - rho) * step * step;
  }
};

}  // namespace mgcompare
