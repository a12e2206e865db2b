#include "cpu/gru.h"

#include "cpu/recurrent.h"

namespace mgcompare {
namespace {

class GruCell : public RecurrentCell {
 public:
  bool keeps_products_apart() const override { return true; }

  void forward(const RecurrentStep& step) override {
    const std::size_t units = step.units;
    for (std::size_t sample = 0; sample < step.samples; ++sample) {
      float* const gates = step.gates + sample * 3 * units;
      const float* const recurrent = step.recurrent + sample * 3 * units;
      const float* const previous = step.previous + sample * units;
      float* const state = step.state + sample * units;
      for (std::size_t i = 0; i < 2 * units; ++i) gates[i] += recurrent[i];
      kernels().activate(Activation::sigmoid, gates, 2 * units);
      const float* const update = gates + units;
      float* const candidate = gates + 2 * units;
      for (std::size_t i = 0; i < units; ++i) candidate[i] += gates[i] * recurrent[2 * units + i];
      kernels().activate(Activation::tanh, candidate, units);
      for (std::size_t i = 0; i < units; ++i) state[i] = (1 - update[i]) * candidate[i] + update[i] * previous[i];
    }
  }

  void backward(const RecurrentStep& step) override {
    const std::size_t units = step.units;
    for (std::size_t sample = 0; sample < step.samples; ++sample) {
      float* const gates = step.gates + sample * 3 * units;
      float* const recurrent = step.recurrent + sample * 3 * units;
      const float* const previous = step.previous + sample * units;
      float* const gradient = step.gradient + sample * units;
      for (std::size_t i = 0; i < units; ++i) {
        const float reset = gates[i], update = gates[units + i], candidate = gates[2 * units + i], slope = gradient[i];
        const float of_candidate = slope * (1 - update) * (1 - candidate * candidate);
        const float of_update = slope * (previous[i] - candidate) * update * (1 - update);
        const float of_reset = of_candidate * recurrent[2 * units + i] * reset * (1 - reset);
        gates[i] = recurrent[i] = of_reset;
        gates[units + i] = recurrent[units + i] = of_update;
        gates[2 * units + i] = of_candidate;
        recurrent[2 * units + i] = of_candidate * reset;
        gradient[i] = slope * update;
      }
    }
  }
};

}  // namespace

std::unique_ptr<Layer> make_gru(Device& device, const LayerSpec& spec, Port& input, Tensor& output) {
  return make_recurrent(device, spec, std::make_unique<GruCell>(), input, output);
}

}  // namespace mgcompare
