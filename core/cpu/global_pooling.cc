#include "cpu/global_pooling.h"

#include <algorithm>

namespace mgcompare {
namespace {

class GlobalPooling : public Layer {
 public:
  GlobalPooling(const LayerSpec& spec, Port& input, Tensor& output)
      : sequence_(spec.input_shapes.front().size() == 2), input_(input), output_(output),
        places_(input.tensor->features / output.features) {}

  void forward(const Work& work) override {
    const float* const x = input_.tensor->value;
    for_each_run(work, [&](std::size_t at, std::size_t step, std::size_t out) {
      double sum = 0;
      for (std::size_t i = 0; i < places_; ++i) sum += x[at + i * step];
      output_.value[out] = static_cast<float>(sum / static_cast<double>(places_));
    });
  }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    float* const dx = input_.gradient;
    std::fill_n(dx, input_.tensor->size(work.samples), 0.0f);  // also in lanes without a sample
    const float share = 1.0f / static_cast<float>(places_);
    for_each_run(work, [&](std::size_t at, std::size_t step, std::size_t out) {
      const float slope = output_.gradient[out] * share;
      for (std::size_t i = 0; i < places_; ++i) dx[at + i * step] = slope;
    });
  }

 private:
  // f(first element, distance of the elements, output) for each channel or feature of each sample.
  template <class F> void for_each_run(const Work& work, F f) const {
    const std::size_t channels = output_.features;
    for (std::size_t sample = 0, out = 0; sample < work.samples; ++sample) {
      for (std::size_t c = 0; c < channels; ++c, ++out) {
        if (input_.tensor->blocked) {
          f(((sample / kLanes * channels + c) * places_) * kLanes + sample % kLanes, kLanes, out);
        } else if (sequence_) {
          f(sample * places_ * channels + c, channels, out);
        } else {
          f((sample * channels + c) * places_, 1, out);
        }
      }
    }
  }

  bool sequence_;
  Port& input_;
  Tensor& output_;
  std::size_t places_;              // pixels or positions
};

}  // namespace

std::unique_ptr<Layer> make_global_pooling(const LayerSpec& spec, Port& input, Tensor& output) {
  return std::make_unique<GlobalPooling>(spec, input, output);
}

}  // namespace mgcompare
