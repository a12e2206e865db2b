#include "cpu/merge.h"

#include <cstring>
#include <utility>

namespace mgcompare {
namespace {

class Sum : public Layer {
 public:
  Sum(std::vector<Port*> inputs, Tensor& output) : inputs_(std::move(inputs)), output_(output) {}

  void forward(const Work& work) override {
    const std::size_t size = output_.size(work.samples);
    std::memcpy(output_.value, inputs_.front()->tensor->value, size * sizeof(float));
    for (std::size_t k = 1; k < inputs_.size(); ++k) {
      const float* const from = inputs_[k]->tensor->value;
      for (std::size_t i = 0; i < size; ++i) output_.value[i] += from[i];
    }
  }

  void backward(const Work& work) override {
    for (const Port* input : inputs_) {
      if (!input->tensor->needs_gradient) continue;
      std::memcpy(input->gradient, output_.gradient, output_.size(work.samples) * sizeof(float));
    }
  }

 private:
  std::vector<Port*> inputs_;
  Tensor& output_;
};

class Concatenation : public Layer {
 public:
  Concatenation(std::vector<Port*> inputs, Tensor& output) : inputs_(std::move(inputs)), output_(output) {}

  void forward(const Work& work) override {
    for_each_piece(work, [&](const Port& input, std::size_t at, std::size_t out, std::size_t size) {
      std::memcpy(output_.value + out, input.tensor->value + at, size * sizeof(float));
    });
  }

  void backward(const Work& work) override {
    for_each_piece(work, [&](const Port& input, std::size_t at, std::size_t out, std::size_t size) {
      if (input.tensor->needs_gradient) std::memcpy(input.gradient + at, output_.gradient + out, size * sizeof(float));
    });
  }

 private:
  template <class F> void for_each_piece(const Work& work, F f) const {
    const std::size_t width = output_.blocked ? kLanes : 1;
    const std::size_t rows = output_.blocked ? blocks_of(work.samples) : work.samples;
    std::size_t out = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      for (const Port* input : inputs_) {
        const std::size_t size = input->tensor->features * width;
        f(*input, row * size, out, size);
        out += size;
      }
    }
  }

  std::vector<Port*> inputs_;
  Tensor& output_;
};

}  // namespace

std::unique_ptr<Layer> make_sum(std::vector<Port*> inputs, Tensor& output) {
  return std::make_unique<Sum>(std::move(inputs), output);
}

std::unique_ptr<Layer> make_concatenation(std::vector<Port*> inputs, Tensor& output) {
  return std::make_unique<Concatenation>(std::move(inputs), output);
}

}  // namespace mgcompare
