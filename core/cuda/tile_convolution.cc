#include "cuda/tile_convolution.h"

#include "cuda/branch_mark.h"
#include "cuda/device.h"
#include "cuda/partial_sums.h"
#include "cuda/tile_kernels.h"

namespace mgcompare::cuda {
namespace {

class TileConvolution : public Layer {
 public:
  TileConvolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion, Port& input, Tensor& output)
      : device_(device), spec_(spec), activation_(fusion.activation), input_(input), output_(output),
        processors_(static_cast<unsigned>(device.attribute(cudaDevAttrMultiProcessorCount))), prepared_(device) {
    packed_ = device_array<float>(device, tile::kPacked);
    partial_ = device_array<float>(device, processors_ * (tile::kWeights + tile::kOutputs));
    queue_ = device_array<tile::Queue>(device, 1);
    device.zero(queue_.data(), sizeof(tile::Queue));
  }

  void reserve(std::size_t samples) override { choice_ = device_array<std::uint8_t>(device_, output_.size(samples)); }

  void prepare(const Work& work) override {
    if (work.samples == 0) return;
    tile::pack(device_.fork_branch(), work.weights + spec_.weights.begin, packed_.data());
    prepared_.set(2 * tile::kPacked * sizeof(float));
  }

  void forward(const Work& work) override {
    if (work.samples == 0) return;
    prepared_.join();
    tile::forward(call(work, device_.compute_stream()));
  }

  void backward(const Work& work) override {
    float* const to = work.gradients + spec_.weights.begin;
    // The bias follows the weights.
    const std::size_t size = spec_.weights.size() + spec_.bias.size();
    if (work.samples == 0) {
      device_.zero(to, size * sizeof(float));
      return;
    }
    // The two gradients are independent, and earlier layers need only the data gradient.
    const cudaStream_t beside = device_.fork_branch();
    if (input_.tensor->needs_gradient)
      tile::backward_data(call(work, device_.compute_stream()), queue_.data(), input_.gradients());
    const unsigned blocks = tile::backward_weights(call(work, beside), partial_.data());
    sum_partials(beside, partial_.data(), blocks, size, to);
  }

 private:
  tile::Call call(const Work& work, cudaStream_t stream) const {
    return {stream,
            processors_,
            activation_,
            static_cast<unsigned>(work.samples),
            input_.values(),
            packed_.data(),
            work.weights + spec_.bias.begin,
            output_.values(),
            choice_.data(),
            output_.gradients()};
  }

  CudaDevice& device_;
  const LayerSpec spec_;
  Activation activation_;
  Port& input_;
  Tensor& output_;
  const unsigned processors_;
  BranchMark prepared_;
  Array<float> packed_;             // weights of the last forward pass
  Array<float> partial_;
  Array<tile::Queue> queue_;
  Array<std::uint8_t> choice_;
};

}  // namespace

bool is_tile(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion, Precision precision) {
  const LayerConfig& config = spec.config;
  if (precision == Precision::fp32 || fusion.pool == nullptr || spec.bias.size() == 0) return false;
  if (spec.input_shapes.front() != Shape{tile::kChannels, tile::kSize, tile::kSize}) return false;
  if (spec.output_shape != Shape{tile::kOutputs, tile::kOut, tile::kOut}) return false;
  for (const int axis : {0, 1}) {
    if (config.kernel[axis] != tile::kKernel || config.stride[axis] != 1 || config.padding[axis] != 0) return false;
    if (fusion.pool->config.kernel[axis] != tile::kOut / tile::kPooled) return false;
  }
  return device.attribute(cudaDevAttrComputeCapabilityMajor) >= 8 && tile::prepare_forward(fusion.activation) &&
         tile::prepare_backward(fusion.activation);
}

std::unique_ptr<Layer> make_tile_convolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion, Port& input,
                                             Tensor& output) {
  return std::make_unique<TileConvolution>(device, spec, fusion, input, output);
}

}  // namespace mgcompare::cuda
