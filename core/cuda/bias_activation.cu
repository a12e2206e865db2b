#include "cuda/activation_math.h"
#include "cuda/bias_activation.h"
#include "cuda/launch.h"
#include "mgcompare/detail/block_cuda.h"

namespace mgcompare::cuda {
namespace {

constexpr unsigned kSplits = 64;
constexpr unsigned kColumns = 32;

// Block (channel, split) sums over the pixels of every gridDim.y-th sample.
template <Activation A>
__global__ void images_back(const float* y, float* gradient, float* sums, float* partial, unsigned* finished,
                            unsigned samples, unsigned channels, unsigned pixels) {
  const unsigned channel = blockIdx.x, split = blockIdx.y, splits = gridDim.y;
  wait_for_previous_kernel();
  float sum = 0;
  // One index over samples and pixels, so that small images occupy all threads.
  const unsigned mine = (samples - split + splits - 1) / splits;
  for (std::size_t i = threadIdx.x; i < static_cast<std::size_t>(mine) * pixels; i += blockDim.x) {
    const std::size_t sample = split + i / pixels * splits;
    const std::size_t at = (sample * channels + channel) * pixels + i % pixels;
    const float value = A == Activation::none ? gradient[at] : activation_gradient<A>(y[at], gradient[at]);
    if (A != Activation::none) gradient[at] = value;
    sum += value;
  }
  if (sums == nullptr) return;
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[channel * splits + split] = sum;
  if (!arithmetic::last_to_arrive(finished + channel, splits)) return;
  const float all = block_sum(threadIdx.x < splits ? partial[channel * splits + threadIdx.x] : 0.0f);
  if (threadIdx.x == 0) sums[channel] = all;
}

// For one pixel: block (32 columns, split) of 32 x 8 threads; thread (x, y) sums one column over every 8th row of the split.
template <Activation A>
__global__ void rows_back(const float* y, float* gradient, float* sums, float* partial, unsigned* finished,
                          unsigned samples, unsigned columns) {
  __shared__ float tile[8][kColumns + 1];
  const unsigned x = threadIdx.x % kColumns, row = threadIdx.x / kColumns;
  const unsigned column = blockIdx.x * kColumns + x, splits = gridDim.y;
  wait_for_previous_kernel();
  float sum = 0;
  if (column < columns) {
    for (unsigned sample = blockIdx.y * 8 + row; sample < samples; sample += splits * 8) {
      const std::size_t at = static_cast<std::size_t>(sample) * columns + column;
      const float value = A == Activation::none ? gradient[at] : activation_gradient<A>(y[at], gradient[at]);
      if (A != Activation::none) gradient[at] = value;
      sum += value;
    }
  }
  if (sums == nullptr) return;
  tile[row][x] = sum;
  __syncthreads();
  if (row == 0 && column < columns) {
    for (unsigned k = 1; k < 8; ++k) sum += tile[k][x];
    partial[static_cast<std::size_t>(blockIdx.y) * columns + column] = sum;
  }
  if (!arithmetic::last_to_arrive(finished + blockIdx.x, splits)) return;
  if (row != 0 || column >= columns) return;
  float all = 0;
  for (unsigned k = 0; k < splits; ++k) all += partial[static_cast<std::size_t>(k) * columns + column];
  sums[column] = all;
}

template <Activation A>
__global__ void bias_images(const float* bias, float* x, std::size_t size, unsigned channels, unsigned pixels) {
  wait_for_previous_kernel();
  for (std::size_t i = first_index(); i < size; i += index_stride())
    x[i] = activated<A>(x[i] + (bias == nullptr ? 0.0f : bias[i / pixels % channels]));
}

}  // namespace

void add_bias(CudaDevice& device, Activation activation, const float* bias, float* x, std::size_t samples,
              std::size_t channels, std::size_t pixels) {
  const std::size_t size = samples * channels * pixels;
  if (size == 0 || (bias == nullptr && activation == Activation::none)) return;
  with_activation(activation, [&](auto chosen) {
    launch(device.compute_stream(), blocks_for(size), kThreads, 0, bias_images<decltype(chosen)::value>, bias, x, size,
           static_cast<unsigned>(channels), static_cast<unsigned>(pixels));
  });
}

BiasGradient::BiasGradient(CudaDevice& device, std::size_t channels)
    : device_(device), channels_(channels), partial_(device, channels * kSplits), finished_(device, channels) {}

void BiasGradient::backward(Activation activation, const float* y, float* gradient, float* sums, std::size_t samples,
                           std::size_t pixels) {
  if (samples == 0) {
    if (sums != nullptr) device_.zero(sums, channels_ * sizeof(float));
    return;
  }
  if (sums == nullptr && activation == Activation::none) return;
  const auto n = static_cast<unsigned>(samples), channels = static_cast<unsigned>(channels_);
  with_activation(activation, [&](auto chosen) {
    constexpr Activation A = decltype(chosen)::value;
    if (pixels == 1) {
      const dim3 grid((channels + kColumns - 1) / kColumns, std::min(kSplits, (n + 31) / 32));
      launch(device_.compute_stream(), grid, 256, 0, rows_back<A>, y, gradient, sums, partial_.data(), finished_.data(),
             n, channels);
    } else {
      const std::size_t per_block = 2048;
      const auto splits = static_cast<unsigned>(std::clamp<std::size_t>(samples * pixels / per_block, 1,
                                                                        std::min<std::size_t>(kSplits, samples)));
      launch(device_.compute_stream(), dim3(channels, splits), 256, 0, images_back<A>, y, gradient, sums, partial_.data(),
             finished_.data(), n, channels, static_cast<unsigned>(pixels));
    }
  });
}

}  // namespace mgcompare::cuda
