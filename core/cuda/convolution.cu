#include "cuda/convolution.h"

#include <map>
#include <string>
#include <type_traits>

#include <cuda_bf16.h>

#include "cuda/bias_activation.h"
#include "cuda/device.h"
#include "cuda/launch.h"
#include "cuda/stem_convolution.h"
#include "cuda/tile_convolution.h"
#include "cuda/tiled_pooling.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

constexpr char kWhat[] = "computing a convolution";

// cuDNN's descriptors of one batch size, and the algorithms selected for it.
struct Shapes {
  cudnnTensorDescriptor_t in = nullptr, out = nullptr;
  cudnnConvolutionFwdAlgo_t forward{};
  cudnnConvolutionBwdDataAlgo_t data{};
  cudnnConvolutionBwdFilterAlgo_t filter{};
  bool fits = false;                // the workspace suffices for an algorithm of each kind

  Shapes() {
    check(cudnnCreateTensorDescriptor(&in), kWhat);
    check(cudnnCreateTensorDescriptor(&out), kWhat);
  }
  Shapes(const Shapes&) = delete;
  Shapes& operator=(const Shapes&) = delete;
  ~Shapes() {
    cudnnDestroyTensorDescriptor(in);
    cudnnDestroyTensorDescriptor(out);
  }
};

// Algorithms that sum products directly. Transforms (FFT, Winograd) are deterministic too, but their rounding errors are 10 to
// 100 times larger, and cuDNN selects them at some batch sizes only: the gradients of a split batch would then differ from
// those of the whole batch by more than the order of additions.
bool adds_products(cudnnConvolutionFwdAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM || algorithm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM;
}
bool adds_products(cudnnConvolutionBwdDataAlgo_t algorithm) { return algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1; }
bool adds_products(cudnnConvolutionBwdFilterAlgo_t algorithm) { return algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1; }

// Selects the first suitable algorithm of cuDNN's list, which is sorted by expected speed. workspace(algorithm, &bytes)
// queries the workspace; the size in the list is for a different math type. Returns false if no algorithm fits.
template <class Found, class Algorithm, class Workspace>
bool choose(const Found* found, int count, bool deterministic, Algorithm& chosen, Workspace workspace) {
  const auto fits = [&](const Found& one) {
    std::size_t bytes = 0;
    return one.status == CUDNN_STATUS_SUCCESS && (!deterministic || one.determinism == CUDNN_DETERMINISTIC) &&
           workspace(one.algo, &bytes) == CUDNN_STATUS_SUCCESS && bytes <= kWorkspaceBytes;
  };
  // If no direct algorithm fits, accept a transform: it is still deterministic for one batch size.
  for (const bool any : {!deterministic, true})
    for (int i = 0; i < count; ++i) {
      if ((!any && !adds_products(found[i].algo)) || !fits(found[i])) continue;
      chosen = found[i].algo;
      return true;
    }
  return false;
}

void to_bfloat16(cudaStream_t stream, const float* from, __nv_bfloat16* to, std::size_t size) {
  for_each_index(stream, size, [=] __device__(std::size_t i) { to[i] = __float2bfloat16_rn(from[i]); });
}

void from_bfloat16(cudaStream_t stream, const __nv_bfloat16* from, float* to, std::size_t size) {
  for_each_index(stream, size, [=] __device__(std::size_t i) { to[i] = __bfloat162float(from[i]); });
}

class Convolution : public Layer {
 public:
  Convolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion, Precision precision, bool deterministic,
              Port& input, Tensor& output)
      : device_(device), spec_(spec), activation_(fusion.activation), precision_(precision),
        deterministic_(deterministic), input_(input), output_(output), bias_gradient_(device, spec.output_shape[0]) {
    const Shape& in = spec.input_shapes.front();
    const LayerConfig& config = spec.config;
    if (fusion.pool != nullptr) {
      windows_ = {static_cast<unsigned>(spec.output_shape[1]), static_cast<unsigned>(spec.output_shape[2]),
                  static_cast<unsigned>(fusion.pool->config.kernel[0]),
                  static_cast<unsigned>(fusion.pool->config.kernel[1])};
    }
    check(cudnnCreateFilterDescriptor(&filter_), kWhat);
    check(cudnnCreateConvolutionDescriptor(&convolution_), kWhat);
    check(cudnnSetFilter4dDescriptor(filter_, type(), CUDNN_TENSOR_NCHW, static_cast<int>(config.channels),
                                     static_cast<int>(in[0]), static_cast<int>(config.kernel[0]),
                                     static_cast<int>(config.kernel[1])),
          kWhat);
    check(cudnnSetConvolution2dDescriptor(convolution_, static_cast<int>(config.padding[0]),
                                          static_cast<int>(config.padding[1]), static_cast<int>(config.stride[0]),
                                          static_cast<int>(config.stride[1]), 1, 1, CUDNN_CROSS_CORRELATION,
                                          CUDNN_DATA_FLOAT),
          kWhat);
    const cudnnMathType_t math = precision == Precision::fp32   ? CUDNN_FMA_MATH
                                 : precision == Precision::tf32 ? CUDNN_DEFAULT_MATH
                                                                : CUDNN_TENSOR_OP_MATH;
    check(cudnnSetConvolutionMathType(convolution_, math), kWhat);
  }
  ~Convolution() override {
    cudnnDestroyFilterDescriptor(filter_);
    cudnnDestroyConvolutionDescriptor(convolution_);
  }

  bool overwrites_output_gradient() const override { return activation_ != Activation::none; }

  void reserve(std::size_t samples) override {
    if (pooled()) {
      full_ = device_array<float>(device_, samples * full_features());
      choice_ = device_array<std::uint8_t>(device_, output_.size(samples));
    }
    if (precision_ != Precision::bf16) return;
    narrow_in_ = device_array<__nv_bfloat16>(device_, input_.tensor->size(samples));
    narrow_out_ = device_array<__nv_bfloat16>(device_, samples * full_features());
    narrow_weights_ = device_array<__nv_bfloat16>(device_, spec_.weights.size());
    narrow_back_ = device_array<__nv_bfloat16>(device_, std::max(narrow_in_.size(), spec_.weights.size()));
  }

  void forward(const Work& work) override {
    if (work.samples == 0) return;
    const float* const bias = spec_.bias.size() == 0 ? nullptr : work.weights + spec_.bias.begin;
    float* const out = pooled() ? full_.data() : output_.value;
    const void* in = input_.tensor->value;
    const void* weights = work.weights + spec_.weights.begin;
    void* to = out;
    if (narrow()) {
      in = narrowed(input_.tensor->value, narrow_in_, input_.tensor->size(work.samples));
      weights = narrowed(work.weights + spec_.weights.begin, narrow_weights_, spec_.weights.size());
      to = narrow_out_.data();
    }
    in_parts(0, work.samples, [&](std::size_t first, const Shapes& shapes) {
      const float one = 1, zero = 0;
      check(cudnnConvolutionForward(device_.handles().cudnn, &one, shapes.in, sample_in(in, first), filter_, weights,
                                    convolution_, shapes.forward, device_.handles().workspace, kWorkspaceBytes, &zero,
                                    shapes.out, sample_out(to, first)),
            kWhat);
    });
    if (narrow()) from_bfloat16(device_.compute_stream(), narrow_out_.data(), out, work.samples * full_features());
    if (pooled()) {
      max_pool(device_, windows_, activation_, out, bias, output_.value, choice_.data(), work.samples, channels());
    } else {
      add_bias(device_, activation_, bias, out, work.samples, channels(), output_.features / channels());
    }
  }

  void backward(const Work& work) override {
    float* const weight_gradient = work.gradients + spec_.weights.begin;
    float* const bias_gradient = spec_.bias.size() == 0 ? nullptr : work.gradients + spec_.bias.begin;
    bias_gradient_.backward(activation_, output_.value, output_.gradient, bias_gradient, work.samples,
                        output_.features / channels());
    if (work.samples == 0) {
      device_.zero(weight_gradient, spec_.weights.size() * sizeof(float));
      return;
    }
    const float* gradient = output_.gradient;
    if (pooled()) {
      max_pool_backward(device_, windows_, gradient, choice_.data(), full_.data(), work.samples * channels());
      gradient = full_.data();
    }
    if (narrow()) {
      narrow_backward(work, gradient);
      return;
    }
    filter_back(work, input_.tensor->value, gradient, weight_gradient);
    if (input_.tensor->needs_gradient) data_back(work, work.weights + spec_.weights.begin, gradient, input_.gradient);
  }

 private:
  bool pooled() const { return windows_.rows > 0; }
  bool narrow() const { return precision_ == Precision::bf16; }
  cudnnDataType_t type() const { return narrow() ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT; }
  std::size_t channels() const { return spec_.output_shape[0]; }
  std::size_t full_features() const { return channels() * spec_.output_shape[1] * spec_.output_shape[2]; }

  const void* narrowed(const float* from, const Array<__nv_bfloat16>& to, std::size_t size) const {
    to_bfloat16(device_.compute_stream(), from, to.data(), size);
    return to.data();
  }

  void filter_back(const Work& work, const void* in, const void* gradient, void* to) {
    in_parts(0, work.samples, [&](std::size_t first, const Shapes& shapes) {
      const float one = 1, before = first == 0 ? 0 : 1;
      check(cudnnConvolutionBackwardFilter(device_.handles().cudnn, &one, shapes.in, sample_in(in, first), shapes.out,
                                           sample_out(gradient, first), convolution_, shapes.filter,
                                           device_.handles().workspace, kWorkspaceBytes, &before, filter_, to),
            kWhat);
    });
  }

  void data_back(const Work& work, const void* weights, const void* gradient, void* to) {
    in_parts(0, work.samples, [&](std::size_t first, const Shapes& shapes) {
      const float one = 1, zero = 0;
      check(cudnnConvolutionBackwardData(device_.handles().cudnn, &one, filter_, weights, shapes.out,
                                         sample_out(gradient, first), convolution_, shapes.data,
                                         device_.handles().workspace, kWorkspaceBytes, &zero, shapes.in,
                                         sample_in(to, first)),
            kWhat);
    });
  }

  void narrow_backward(const Work& work, const float* gradient) {
    // narrow_in_ and narrow_weights_ are those of the forward pass.
    const void* const slope = narrowed(gradient, narrow_out_, work.samples * full_features());
    filter_back(work, narrow_in_.data(), slope, narrow_back_.data());
    from_bfloat16(device_.compute_stream(), narrow_back_.data(), work.gradients + spec_.weights.begin, spec_.weights.size());
    if (!input_.tensor->needs_gradient) return;
    data_back(work, narrow_weights_.data(), slope, narrow_back_.data());
    from_bfloat16(device_.compute_stream(), narrow_back_.data(), input_.gradient, input_.tensor->size(work.samples));
  }

  // Pointers to the first element of a sample's input and output.
  template <class Pointer> Pointer* at(Pointer* data, std::size_t elements) const {
    using Byte = std::conditional_t<std::is_const_v<Pointer>, const char, char>;
    return static_cast<Byte*>(data) + elements * (narrow() ? sizeof(__nv_bfloat16) : sizeof(float));
  }
  template <class Pointer> Pointer* sample_in(Pointer* data, std::size_t sample) const {
    return at(data, sample * input_.tensor->features);
  }
  template <class Pointer> Pointer* sample_out(Pointer* data, std::size_t sample) const {
    return at(data, sample * full_features());
  }

  // Calls f(first sample, shapes) for the batch, or recursively for its halves if the workspace is too small.
  template <class F> void in_parts(std::size_t first, std::size_t count, const F& f) {
    const Shapes& shapes = this->shapes(count);
    if (shapes.fits) return f(first, shapes);
    if (count == 1)
      throw Error("cuDNN has no " + std::string(deterministic_ ? "deterministic " : "") + "algorithm for layer '" +
                  spec_.config.name + "' that needs at most " + std::to_string(kWorkspaceBytes >> 20) +
                  " MiB of workspace for one sample: use smaller images or fewer channels");
    const std::size_t half = (count + 1) / 2;
    in_parts(first, half, f);
    in_parts(first + half, count - half, f);
  }

  const Shapes& shapes(std::size_t samples) {
    const auto found = shapes_.find(samples);
    if (found != shapes_.end()) return found->second;
    Shapes& made = shapes_[samples];
    const Shape& in = spec_.input_shapes.front();
    const int n = static_cast<int>(samples);
    check(cudnnSetTensor4dDescriptor(made.in, CUDNN_TENSOR_NCHW, type(), n, static_cast<int>(in[0]),
                                     static_cast<int>(in[1]), static_cast<int>(in[2])),
          kWhat);
    check(cudnnSetTensor4dDescriptor(made.out, CUDNN_TENSOR_NCHW, type(), n, static_cast<int>(channels()),
                                     static_cast<int>(spec_.output_shape[1]), static_cast<int>(spec_.output_shape[2])),
          kWhat);
    made.fits = choose_forward(made) && choose_filter(made) && (!input_.tensor->needs_gradient || choose_data(made));
    return made;
  }

  bool choose_forward(Shapes& shapes) const {
    const cudnnHandle_t cudnn = device_.handles().cudnn;
    cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
    int count = 0;
    check(cudnnGetConvolutionForwardAlgorithm_v7(cudnn, shapes.in, filter_, convolution_, shapes.out,
                                                 CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &count, found),
          kWhat);
    return choose(found, count, deterministic_, shapes.forward, [&](auto algorithm, std::size_t* bytes) {
      return cudnnGetConvolutionForwardWorkspaceSize(cudnn, shapes.in, filter_, convolution_, shapes.out, algorithm, bytes);
    });
  }

  bool choose_filter(Shapes& shapes) const {
    const cudnnHandle_t cudnn = device_.handles().cudnn;
    cudnnConvolutionBwdFilterAlgoPerf_t found[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT];
    int count = 0;
    check(cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnn, shapes.in, shapes.out, convolution_, filter_,
                                                        CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, &count, found),
          kWhat);
    return choose(found, count, deterministic_, shapes.filter, [&](auto algorithm, std::size_t* bytes) {
      return cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnn, shapes.in, shapes.out, convolution_, filter_, algorithm,
                                                            bytes);
    });
  }

  bool choose_data(Shapes& shapes) const {
    const cudnnHandle_t cudnn = device_.handles().cudnn;
    cudnnConvolutionBwdDataAlgoPerf_t found[CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT];
    int count = 0;
    check(cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnn, filter_, shapes.out, convolution_, shapes.in,
                                                      CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, &count, found),
          kWhat);
    return choose(found, count, deterministic_, shapes.data, [&](auto algorithm, std::size_t* bytes) {
      return cudnnGetConvolutionBackwardDataWorkspaceSize(cudnn, filter_, shapes.out, convolution_, shapes.in, algorithm,
                                                          bytes);
    });
  }

  CudaDevice& device_;
  const LayerSpec spec_;
  Activation activation_;
  Precision precision_;
  bool deterministic_;
  Port& input_;
  Tensor& output_;
  BiasGradient bias_gradient_;
  PoolingWindows windows_;
  cudnnFilterDescriptor_t filter_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
  std::map<std::size_t, Shapes> shapes_;
  Array<float> full_;               // the convolution's output before pooling; in the backward pass its gradient
  Array<std::uint8_t> choice_;
  Array<__nv_bfloat16> narrow_in_, narrow_out_, narrow_weights_, narrow_back_;
};

}  // namespace

bool fuses(const LayerSpec& pool) {
  const LayerConfig& config = pool.config;
  return config.kernel[0] == config.stride[0] && config.kernel[1] == config.stride[1] && config.padding[0] == 0 &&
         config.padding[1] == 0 && config.kernel[0] * config.kernel[1] <= 256;
}

std::unique_ptr<Layer> make_convolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion,
                                        Precision precision, bool deterministic, Port& input, Tensor& output) {
  if (is_stem(spec, fusion, *input.tensor))
    return make_stem_convolution(device, spec, fusion, precision, input, output);
  if (is_tile(device, spec, fusion, precision)) return make_tile_convolution(device, spec, fusion, input, output);
  return std::make_unique<Convolution>(device, spec, fusion, precision, deterministic, input, output);
}

}  // namespace mgcompare::cuda
