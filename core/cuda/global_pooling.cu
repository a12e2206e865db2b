#include "cuda/global_pooling.h"

#include "cuda/device.h"
#include "cuda/launch.h"

namespace mgcompare::cuda {
namespace {

class GlobalPooling : public Layer {
 public:
  GlobalPooling(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output)
      : device_(device), sequence_(spec.input_shapes.front().size() == 2), input_(input), output_(output),
        places_(input.tensor->features / output.features) {}

  void forward(const Work& work) override {
    const float* const x = input_.tensor->value;
    float* const y = output_.value;
    const std::size_t places = places_, channels = output_.features, step = sequence_ ? channels : 1;
    const bool sequence = sequence_;
    const float share = 1.0f / static_cast<float>(places);
    for_each_index(device_.compute_stream(), output_.size(work.samples), [=] __device__(std::size_t i) {
      const float* const first = x + (sequence ? i / channels * places * channels + i % channels : i * places);
      float sum = 0;
      for (std::size_t k = 0; k < places; ++k) sum += first[k * step];
      y[i] = sum * share;
    });
  }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    const float* const dy = output_.gradient;
    float* const dx = input_.gradient;
    const std::size_t places = places_, channels = output_.features;
    const bool sequence = sequence_;
    const float share = 1.0f / static_cast<float>(places);
    for_each_index(device_.compute_stream(), input_.tensor->size(work.samples), [=] __device__(std::size_t i) {
      dx[i] = dy[sequence ? i / (places * channels) * channels + i % channels : i / places] * share;
    });
  }

 private:
  CudaDevice& device_;
  bool sequence_;
  Port& input_;
  Tensor& output_;
  std::size_t places_;              // pixels or positions
};

}  // namespace

std::unique_ptr<Layer> make_global_pooling(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output) {
  return std::make_unique<GlobalPooling>(device, spec, input, output);
}

}  // namespace mgcompare::cuda
