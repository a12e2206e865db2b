#include "cuda/library/pooling.h"

#include "cuda/device.h"
#include "cuda/library/tensor.h"

namespace mgcompare::cuda::library {
namespace {

constexpr char kWhat[] = "computing a pooling layer";

// Of one sample, and of the window.
struct Geometry {
  Sizes in, out;
  std::size_t kernel[2], stride[2], padding[2];
};

class Pooling : public Layer {
 public:
  Pooling(CudaDevice& device, const Geometry& geometry, bool average, Port& input, Tensor& output)
      : device_(device), geometry_(geometry), input_(input), output_(output) {
    const auto number = [](std::size_t size) { return static_cast<int>(size); };
    check(cudnnCreatePoolingDescriptor(&pooling_), kWhat);
    check(cudnnSetPooling2dDescriptor(pooling_, average ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING : CUDNN_POOLING_MAX_DETERMINISTIC,
                                      CUDNN_PROPAGATE_NAN, number(geometry.kernel[0]), number(geometry.kernel[1]),
                                      number(geometry.padding[0]), number(geometry.padding[1]), number(geometry.stride[0]),
                                      number(geometry.stride[1])),
          kWhat);
  }
  ~Pooling() override { cudnnDestroyPoolingDescriptor(pooling_); }

  void forward(const Work& work) override {
    if (work.samples == 0) return;
    const float one = 1, zero = 0;
    check(cudnnPoolingForward(device_.handles().cudnn, pooling_, &one, in(work), input_.tensor->value, &zero, out(work), output_.value),
          kWhat);
  }

  void backward(const Work& work) override {
    if (work.samples == 0 || !input_.tensor->needs_gradient) return;
    const float one = 1, zero = 0;
    const cudnnTensorDescriptor_t in = this->in(work), out = this->out(work);
    check(cudnnPoolingBackward(device_.handles().cudnn, pooling_, &one, out, output_.value, out, output_.gradient, in,
                               input_.tensor->value, &zero, in, input_.gradient),
          kWhat);
  }

 private:
  cudnnTensorDescriptor_t in(const Work& work) { return described(in_, geometry_.in, work); }
  cudnnTensorDescriptor_t out(const Work& work) { return described(out_, geometry_.out, work); }
  cudnnTensorDescriptor_t described(Tensor4d& tensor, Sizes sizes, const Work& work) const {
    sizes.samples = work.samples;
    return tensor.of(sizes, output_.format.element, true);
  }

  CudaDevice& device_;
  const Geometry geometry_;
  Port& input_;
  Tensor& output_;
  cudnnPoolingDescriptor_t pooling_ = nullptr;
  Tensor4d in_, out_;
};

}  // namespace

std::unique_ptr<Layer> make_pooling(CudaDevice& device, const LayerSpec& spec, bool average, Port& input, Tensor& output) {
  const Shape &in = spec.input_shapes.front(), &out = spec.output_shape;
  const LayerConfig& config = spec.config;
  return std::make_unique<Pooling>(device,
                                   Geometry{{1, in[0], in[1], in[2]},
                                            {1, out[0], out[1], out[2]},
                                            {config.kernel[0], config.kernel[1]},
                                            {config.stride[0], config.stride[1]},
                                            {config.padding[0], config.padding[1]}},
                                   average, input, output);
}

std::unique_ptr<Layer> make_global_pooling(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output) {
  const Shape& in = spec.input_shapes.front();
  const Sizes sizes = in.size() == 3 ? Sizes{1, in[0], in[1], in[2]} : Sizes{1, in[1], in[0], 1};
  return std::make_unique<Pooling>(
      device, Geometry{sizes, {1, sizes.channels, 1, 1}, {sizes.rows, sizes.columns}, {1, 1}, {0, 0}}, true, input, output);
}

}  // namespace mgcompare::cuda::library
