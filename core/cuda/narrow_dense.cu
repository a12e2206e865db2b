#include "activate.h"
#include "launch.h"
#include "narrow_dense.h"

namespace mgcompare::cuda {
namespace {

constexpr unsigned kWarps = 4;

// A warp has one sample; its lanes share the inputs. kOutputs is the number of outputs, rounded up.
template <Activation A, unsigned kOutputs>
__global__ void __launch_bounds__(kWarps * 32)
    multiply_rows(const float* in, const float* weights, const float* bias, float* out, unsigned samples, unsigned inputs,
                  unsigned outputs) {
  const unsigned lane = threadIdx.x % 32, sample = blockIdx.x * kWarps + threadIdx.x / 32;
  if (sample >= samples) return;
  const float* const row = in + static_cast<std::size_t>(sample) * inputs;
  float sums[kOutputs] = {};
  const auto add = [&](unsigned i) {
    const float value = __ldg(row + i);
    // Outputs that are not there repeat the last one: a condition would leave a single load under way at a time.
#pragma unroll
    for (unsigned o = 0; o < kOutputs; ++o)
      sums[o] += value * __ldg(weights + static_cast<std::size_t>(min(o, outputs - 1)) * inputs + i);
  };
  unsigned i = lane;
  for (; i + 3 * 32 < inputs; i += 4 * 32) {
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) add(i + k * 32);
  }
  for (; i < inputs; i += 32) add(i);
  float mine = 0;
#pragma unroll
  for (unsigned o = 0; o < kOutputs; ++o) {
    float sum = sums[o];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (lane == o) mine = sum;
  }
  if (lane < outputs)
    out[static_cast<std::size_t>(sample) * outputs + lane] = activated<A>(mine + (bias == nullptr ? 0.0f : bias[lane]));
}

}  // namespace

void narrow_forward(CudaDevice& device, Activation activation, const float* in, const float* weights, const float* bias,
                    float* out, std::size_t samples, std::size_t inputs, std::size_t outputs) {
  if (samples == 0) return;
  const auto n = static_cast<unsigned>(samples);
  with_activation(activation, [&](auto chosen) {
    constexpr Activation A = decltype(chosen)::value;
    const auto kernel = outputs <= 4 ? multiply_rows<A, 4> : outputs <= 10 ? multiply_rows<A, 10> : multiply_rows<A, kNarrow>;
    kernel<<<(n + kWarps - 1) / kWarps, kWarps * 32, 0, device.queue()>>>(in, weights, bias, out, n,
                                                                          static_cast<unsigned>(inputs),
                                                                          static_cast<unsigned>(outputs));
  });
  check(cudaGetLastError(), "computing a dense layer");
}

}  // namespace mgcompare::cuda
