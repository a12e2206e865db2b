#include "cuda/layer_norm.h"

#include "cuda/device.h"
#include "cuda/launch.h"

namespace mgcompare::cuda {
namespace {

constexpr unsigned kBlock = 256;

// Rows of values that are normalised together: `scales` times `area` of them, in this order.
struct Rows {
  std::size_t scales, area, count;
  __device__ std::size_t size() const { return scales * area; }
};

// block_sum() for all threads.
__device__ float sum_for_all(float value) {
  __shared__ float sum;
  value = block_sum(value);
  if (threadIdx.x == 0) sum = value;
  __syncthreads();
  const float all = sum;
  __syncthreads();
  return all;
}

// One block per row. Two passes: E[x^2] - E[x]^2 would lose the variance of a row with a large mean to cancellation.
__global__ void __launch_bounds__(kBlock) normalize_rows(Rows rows, const float* x, const float* gamma, const float* beta, float epsilon,
                                                         float* y, float* means, float* inverses) {
  wait_for_previous_kernel();
  const std::size_t size = rows.size();
  for (std::size_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const float* const from = x + row * size;
    float sum = 0, squares = 0;
    for (std::size_t i = threadIdx.x; i < size; i += kBlock) sum += from[i];
    const float mean = sum_for_all(sum) / static_cast<float>(size);
    for (std::size_t i = threadIdx.x; i < size; i += kBlock) squares += (from[i] - mean) * (from[i] - mean);
    const float inverse = 1 / sqrtf(sum_for_all(squares) / static_cast<float>(size) + epsilon);
    for (std::size_t i = threadIdx.x; i < size; i += kBlock)
      y[row * size + i] = (from[i] - mean) * inverse * gamma[i / rows.area] + beta[i / rows.area];
    if (threadIdx.x != 0) continue;
    means[row] = mean;
    inverses[row] = inverse;
  }
}

// One block per row.
__global__ void __launch_bounds__(kBlock) gradient_of_rows(Rows rows, const float* x, const float* dy, const float* gamma,
                                                           const float* means, const float* inverses, float* dx) {
  wait_for_previous_kernel();
  const std::size_t size = rows.size();
  for (std::size_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const float *const from = x + row * size, *const slopes = dy + row * size;
    const float mean = means[row], inverse = inverses[row];
    float sum = 0, product = 0;
    for (std::size_t i = threadIdx.x; i < size; i += kBlock) {
      const float slope = slopes[i] * gamma[i / rows.area];
      sum += slope;
      product += slope * (from[i] - mean) * inverse;
    }
    sum = sum_for_all(sum) / static_cast<float>(size);
    product = sum_for_all(product) / static_cast<float>(size);
    for (std::size_t i = threadIdx.x; i < size; i += kBlock) {
      const float normal = (from[i] - mean) * inverse;
      dx[row * size + i] = inverse * (slopes[i] * gamma[i / rows.area] - sum - normal * product);
    }
  }
}

// One block per scale: its gradient and that of the shift, summed over the rows in a fixed order.
__global__ void __launch_bounds__(kBlock) gradient_of_scales(Rows rows, const float* x, const float* dy, const float* means,
                                                             const float* inverses, float* gamma, float* beta) {
  wait_for_previous_kernel();
  const std::size_t scale = blockIdx.x;
  float sum = 0, product = 0;
  for (std::size_t i = threadIdx.x; i < rows.count * rows.area; i += kBlock) {
    const std::size_t row = i / rows.area, at = row * rows.size() + scale * rows.area + i % rows.area;
    sum += dy[at];
    product += dy[at] * (x[at] - means[row]) * inverses[row];
  }
  sum = block_sum(sum);
  product = block_sum(product);
  if (threadIdx.x != 0) return;
  beta[scale] = sum;
  gamma[scale] = product;
}

class LayerNorm : public Layer {
 public:
  LayerNorm(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output)
      : device_(device), spec_(spec), input_(input), output_(output), scales_(spec.weights.size()) {
    const bool image = spec.output_shape.size() == 3;
    area_ = image ? output.features / scales_ : 1;
    rows_ = image ? 1 : output.features / scales_;
  }

  void reserve(std::size_t samples) override {
    mean_ = Array<float>(device_, samples * rows_);
    inverse_ = Array<float>(device_, samples * rows_);
  }

  void forward(const Work& work) override {
    const Rows rows = of(work);
    if (rows.count == 0) return;
    launch(device_.compute_stream(), blocks(rows), kBlock, 0, normalize_rows, rows, input_.values(),
           work.weights + spec_.weights.begin, work.weights + spec_.bias.begin, static_cast<float>(spec_.config.epsilon),
           output_.values(), mean_.data(), inverse_.data());
  }

  void backward(const Work& work) override {
    const Rows rows = of(work);
    launch(device_.compute_stream(), static_cast<unsigned>(scales_), kBlock, 0, gradient_of_scales, rows, input_.values(),
           output_.gradients(), mean_.data(), inverse_.data(), work.gradients + spec_.weights.begin, work.gradients + spec_.bias.begin);
    if (!input_.tensor->needs_gradient || rows.count == 0) return;
    launch(device_.compute_stream(), blocks(rows), kBlock, 0, gradient_of_rows, rows, input_.values(), output_.gradients(),
           work.weights + spec_.weights.begin, mean_.data(), inverse_.data(), input_.gradients());
  }

 private:
  Rows of(const Work& work) const { return {scales_, area_, work.samples * rows_}; }
  static unsigned blocks(const Rows& rows) { return static_cast<unsigned>(std::min<std::size_t>(rows.count, 1u << 20)); }

  CudaDevice& device_;
  const LayerSpec spec_;
  Port& input_;
  Tensor& output_;
  std::size_t scales_, area_ = 1, rows_ = 1;  // rows_: of a sample, the positions of a sequence
  Array<float> mean_, inverse_;
};

}  // namespace

std::unique_ptr<Layer> make_layer_norm(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output) {
  return std::make_unique<LayerNorm>(device, spec, input, output);
}

}  // namespace mgcompare::cuda
