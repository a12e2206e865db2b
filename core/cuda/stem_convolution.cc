#include "cuda/stem_convolution.h"

#include "cuda/device.h"
#include "cuda/partial_sums.h"
#include "cuda/stem_kernels.h"

namespace mgcompare::cuda {
namespace {

stem::Shape shape_of(const LayerSpec& spec) {
  const Shape& in = spec.input_shapes.front();
  return {static_cast<unsigned>(in[1]), static_cast<unsigned>(in[2]), static_cast<unsigned>(spec.output_shape[1] / 2),
          static_cast<unsigned>(spec.output_shape[2] / 2), static_cast<unsigned>(spec.output_shape[0])};
}

class StemConvolution : public Layer {
 public:
  StemConvolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion, Precision precision, Port& input,
                  Tensor& output)
      : device_(device), spec_(spec), shape_(shape_of(spec)), activation_(fusion.activation), input_(input), output_(output),
        processors_(static_cast<unsigned>(device.attribute(cudaDevAttrMultiProcessorCount))),
        in_tf32_(precision != Precision::fp32 && device.attribute(cudaDevAttrComputeCapabilityMajor) >= 8 &&
                 stem::tf32::serves(shape_, activation_)),
        partial_(device, stem::max_blocks(processors_) * (spec.weights.size() + spec.bias.size())) {}

  void reserve(std::size_t samples) override { choice_ = device_array<std::uint8_t>(device_, output_.size(samples)); }

  void forward(const Work& work) override {
    if (work.samples > 0) (in_tf32_ ? stem::tf32::forward : stem::fp32::forward)(call(work));
  }

  void backward(const Work& work) override {
    float* const to = work.gradients + spec_.weights.begin;
    const std::size_t size = spec_.weights.size() + spec_.bias.size();  // the bias follows the weights
    if (work.samples == 0) {
      device_.zero(to, size * sizeof(float));
      return;
    }
    const unsigned blocks = (in_tf32_ ? stem::tf32::backward : stem::fp32::backward)(call(work), partial_.data());
    sum_partials(device_.compute_stream(), partial_.data(), blocks, size, to);
  }

 private:
  stem::Call call(const Work& work) const {
    return {device_.compute_stream(),
            processors_,
            shape_,
            activation_,
            static_cast<unsigned>(work.samples),
            input_.values(),
            work.weights + spec_.weights.begin,
            spec_.bias.size() == 0 ? nullptr : work.weights + spec_.bias.begin,
            output_.values(),
            choice_.data(),
            output_.gradients()};
  }

  CudaDevice& device_;
  const LayerSpec spec_;
  const stem::Shape shape_;
  Activation activation_;
  Port& input_;
  Tensor& output_;
  const unsigned processors_;
  const bool in_tf32_;
  Array<float> partial_;
  Array<std::uint8_t> choice_;
};

}  // namespace

bool is_stem(const LayerSpec& spec, const Fusion& fusion, const Tensor& input) {
  const Shape& in = spec.input_shapes.front();
  const LayerConfig& config = spec.config;
  if (fusion.pool == nullptr || input.needs_gradient || in[0] != 1) return false;
  for (const int axis : {0, 1}) {
    if (config.kernel[axis] != stem::kKernel || config.stride[axis] != 1 || config.padding[axis] != 0) return false;
    if (fusion.pool->config.kernel[axis] != 2 || spec.output_shape[static_cast<std::size_t>(axis) + 1] % 2 != 0) return false;
  }
  return stem::fp32::serves(shape_of(spec));
}

std::unique_ptr<Layer> make_stem_convolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion,
                                             Precision precision, Port& input, Tensor& output) {
  return std::make_unique<StemConvolution>(device, spec, fusion, precision, input, output);
}

}  // namespace mgcompare::cuda
