#include "cpu/tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mgcompare {
namespace {

constexpr float kNoToken = std::numeric_limits<float>::quiet_NaN();

class TokenLayer : public Layer {
 public:
  TokenLayer(const LayerSpec& spec, Port& input, Tensor& output)
      : spec_(spec), input_(input), output_(output), tokens_(spec.config.tokens), units_(spec.output_shape[1]) {}

 protected:
  // f(token, first element of its row); the token is `tokens_` for a value that is none.
  template <class F> void for_each_token(const Work& work, F f) const {
    const std::size_t count = input_.tensor->size(work.samples);
    for (std::size_t i = 0; i < count; ++i) {
      const float value = input_.tensor->value[i];
      const bool known = value >= 0 && value < static_cast<float>(tokens_) && value == std::floor(value);
      f(known ? static_cast<std::size_t>(value) : tokens_, i * units_);
    }
  }

  const LayerSpec spec_;
  Port& input_;
  Tensor& output_;
  std::size_t tokens_, units_;
};

class Embedding : public TokenLayer {
 public:
  using TokenLayer::TokenLayer;

  void forward(const Work& work) override {
    const float* const table = work.weights + spec_.weights.begin;
    for_each_token(work, [&](std::size_t token, std::size_t at) {
      if (token < tokens_) std::copy_n(table + token * units_, units_, output_.value + at);
      else std::fill_n(output_.value + at, units_, kNoToken);
    });
  }

  void backward(const Work& work) override {
    float* const table = work.gradients + spec_.weights.begin;
    std::fill_n(table, spec_.weights.size(), 0.0f);
    for_each_token(work, [&](std::size_t token, std::size_t at) {
      if (token == tokens_) return;
      for (std::size_t unit = 0; unit < units_; ++unit) table[token * units_ + unit] += output_.gradient[at + unit];
    });
  }
};

class OneHot : public TokenLayer {
 public:
  using TokenLayer::TokenLayer;

  void forward(const Work& work) override {
    for_each_token(work, [&](std::size_t token, std::size_t at) {
      std::fill_n(output_.value + at, units_, token < tokens_ ? 0.0f : kNoToken);
      if (token < tokens_) output_.value[at + token] = 1;
    });
  }

  void backward(const Work&) override {}  // nothing before it learns
};

}  // namespace

std::unique_ptr<Layer> make_embedding(const LayerSpec& spec, Port& input, Tensor& output) {
  return std::make_unique<Embedding>(spec, input, output);
}

std::unique_ptr<Layer> make_one_hot(const LayerSpec& spec, Port& input, Tensor& output) {
  return std::make_unique<OneHot>(spec, input, output);
}

}  // namespace mgcompare
