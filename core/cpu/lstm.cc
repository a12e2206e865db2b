#include "cpu/lstm.h"

#include <algorithm>

#include "cpu/recurrent.h"

namespace mgcompare {
namespace {

class LstmCell : public RecurrentCell {
 public:
  LstmCell(Device& device, std::size_t units) : device_(device), units_(units) {}

  bool keeps_products_apart() const override { return false; }

  void reserve(std::size_t samples, std::size_t positions) override {
    memory_ = device_array<float>(device_, (positions + 1) * samples * units_);
    squashed_ = device_array<float>(device_, positions * samples * units_);
    gradient_ = device_array<float>(device_, samples * units_);
  }

  void forward(const RecurrentStep& step) override {
    const std::size_t units = step.units, size = step.samples * units;
    float* const before = memory_.data() + step.position * size;
    float* const after = before + size;
    float* const squashed = squashed_.data() + step.position * size;
    if (step.position == 0) std::fill_n(before, size, 0.0f);
    for (std::size_t sample = 0; sample < step.samples; ++sample) {
      float* const gates = step.gates + sample * 4 * units;
      kernels().activate(Activation::sigmoid, gates, 2 * units);
      kernels().activate(Activation::tanh, gates + 2 * units, units);
      kernels().activate(Activation::sigmoid, gates + 3 * units, units);
      for (std::size_t i = 0; i < units; ++i) {
        const std::size_t at = sample * units + i;
        squashed[at] = after[at] = gates[units + i] * before[at] + gates[i] * gates[2 * units + i];
      }
      kernels().activate(Activation::tanh, squashed + sample * units, units);
      for (std::size_t i = 0; i < units; ++i) {
        step.state[sample * units + i] = gates[3 * units + i] * squashed[sample * units + i];
      }
    }
  }

  void backward(const RecurrentStep& step) override {
    const std::size_t units = step.units, size = step.samples * units;
    const float* const before = memory_.data() + step.position * size;
    const float* const squashed = squashed_.data() + step.position * size;
    if (step.last) std::fill_n(gradient_.data(), size, 0.0f);
    for (std::size_t sample = 0; sample < step.samples; ++sample) {
      float* const gates = step.gates + sample * 4 * units;
      for (std::size_t i = 0; i < units; ++i) {
        const std::size_t at = sample * units + i;
        const float input = gates[i], forget = gates[units + i], candidate = gates[2 * units + i], out = gates[3 * units + i];
        const float slope = step.gradient[at];
        const float of_memory = gradient_[at] + slope * out * (1 - squashed[at] * squashed[at]);
        gates[i] = of_memory * candidate * input * (1 - input);
        gates[units + i] = of_memory * before[at] * forget * (1 - forget);
        gates[2 * units + i] = of_memory * input * (1 - candidate * candidate);
        gates[3 * units + i] = slope * squashed[at] * out * (1 - out);
        gradient_[at] = of_memory * forget;
        step.gradient[at] = 0;      // the state is read by the recurrent product alone
      }
    }
  }

 private:
  Device& device_;
  std::size_t units_;
  Array<float> memory_;             // c, one position more than the sequence: the first is zero
  Array<float> squashed_;           // tanh(c)
  Array<float> gradient_;           // of c
};

}  // namespace

std::unique_ptr<Layer> make_lstm(Device& device, const LayerSpec& spec, Port& input, Tensor& output) {
  return make_recurrent(device, spec, std::make_unique<LstmCell>(device, spec.config.channels), input, output);
}

}  // namespace mgcompare
