#include "activate.h"
#include "launch.h"
#include "narrow_dense.h"

namespace mgcompare::cuda {
namespace {

constexpr unsigned kWarps = 4, kBlock = kWarps * 32;
constexpr unsigned kAtOnce = 4;           // inputs of a thread whose loads are under way together

// A block has one sample; its threads share the inputs. kOutputs is the number of outputs, rounded up.
template <Activation A, unsigned kOutputs>
__global__ void __launch_bounds__(kBlock)
    multiply_rows(const float* in, const float* weights, const float* bias, float* out, unsigned inputs, unsigned outputs) {
  __shared__ float parts[kWarps][kOutputs];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float* const row = in + static_cast<std::size_t>(blockIdx.x) * inputs;
  float sums[kOutputs] = {};
  for (unsigned first = threadIdx.x; first < inputs; first += kAtOnce * kBlock) {
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      // Inputs and outputs that are not there repeat the last ones: a condition would leave a single load under way.
      const unsigned i = first + k * kBlock, at = min(i, inputs - 1);
      const float value = i < inputs ? __ldg(row + at) : 0.0f;
#pragma unroll
      for (unsigned o = 0; o < kOutputs; ++o)
        sums[o] += value * __ldg(weights + static_cast<std::size_t>(min(o, outputs - 1)) * inputs + at);
    }
  }
#pragma unroll
  for (unsigned o = 0; o < kOutputs; ++o) {
    const float sum = warp_sum(sums[o]);
    if (lane == 0) parts[warp][o] = sum;
  }
  __syncthreads();
  if (threadIdx.x >= outputs) return;
  float sum = bias == nullptr ? 0.0f : bias[threadIdx.x];
  for (unsigned k = 0; k < kWarps; ++k) sum += parts[k][threadIdx.x];
  out[static_cast<std::size_t>(blockIdx.x) * outputs + threadIdx.x] = activated<A>(sum);
}

}  // namespace

void narrow_forward(CudaDevice& device, Activation activation, const float* in, const float* weights, const float* bias,
                    float* out, std::size_t samples, std::size_t inputs, std::size_t outputs) {
  if (samples == 0) return;
  with_activation(activation, [&](auto chosen) {
    constexpr Activation A = decltype(chosen)::value;
    const auto kernel = outputs <= 4 ? multiply_rows<A, 4> : outputs <= 10 ? multiply_rows<A, 10> : multiply_rows<A, kNarrow>;
    kernel<<<static_cast<unsigned>(samples), kBlock, 0, device.queue()>>>(
        in, weights, bias, out, static_cast<unsigned>(inputs), static_cast<unsigned>(outputs));
  });
  check(cudaGetLastError(), "computing a dense layer");
}

}  // namespace mgcompare::cuda
