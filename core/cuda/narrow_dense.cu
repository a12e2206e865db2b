#include <type_traits>

#include "cuda/activation_math.h"
#include "cuda/narrow_dense.h"
#include "cuda/pack.h"
#include "mgcompare/detail/block_cuda.h"

namespace mgcompare::cuda {
namespace {

constexpr unsigned kWarps = 4, kBlock = kWarps * 32;
constexpr unsigned kAtOnce = 4;           // inputs or samples per thread whose loads are in flight together

// kTeam warps per sample, whose threads split the inputs. kOutputs is the number of outputs, rounded up.
template <Activation A, unsigned kOutputs, unsigned kTeam, class T>
__global__ void __launch_bounds__(kBlock)
    multiply_rows(const T* in, const float* weights, const float* bias, float* out, unsigned samples, unsigned inputs, unsigned outputs) {
  constexpr unsigned kTeams = kWarps / kTeam, kStride = kTeam * 32;
  __shared__ float parts[kWarps][kOutputs];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned first_sample = blockIdx.x * kTeams, sample = min(first_sample + warp / kTeam, samples - 1);
  const T* const row = in + static_cast<std::size_t>(sample) * inputs;
  float sums[kOutputs] = {};
  wait_for_previous_kernel();
  for (unsigned first = threadIdx.x % kStride; first < inputs; first += kAtOnce * kStride) {
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      // Missing inputs and outputs repeat the last ones: with a branch only one load would be in flight.
      const unsigned i = first + k * kStride, at = min(i, inputs - 1);
      const float value = i < inputs ? widened(row[at]) : 0.0f;
#pragma unroll
      for (unsigned o = 0; o < kOutputs; ++o)
        sums[o] += value * weights[static_cast<std::size_t>(min(o, outputs - 1)) * inputs + at];
    }
  }
#pragma unroll
  for (unsigned o = 0; o < kOutputs; ++o) {
    const float sum = warp_sum(sums[o]);
    if (lane == 0) parts[warp][o] = sum;
  }
  __syncthreads();
  const unsigned team = threadIdx.x / kOutputs, output = threadIdx.x % kOutputs;
  if (team >= kTeams || output >= outputs || first_sample + team >= samples) return;
  float sum = bias == nullptr ? 0.0f : bias[output];
  for (unsigned k = 0; k < kTeam; ++k) sum += parts[team * kTeam + k][output];
  out[static_cast<std::size_t>(first_sample + team) * outputs + output] = activated<A>(sum);
}

// A thread computes the gradient of one input for kSamplesOfBlock samples.
constexpr unsigned kSamplesOfBlock = 4;
template <Activation A, unsigned kOutputs, class T>
__global__ void __launch_bounds__(kBlock) spread(const float* gradient, const float* weights, const T* in, T* to, unsigned samples,
                                                 unsigned inputs, unsigned outputs) {
  const unsigned across = (inputs + kBlock - 1) / kBlock;
  const unsigned i = blockIdx.x % across * kBlock + threadIdx.x, first = blockIdx.x / across * kSamplesOfBlock;
  wait_for_previous_kernel();
  float of_input[kOutputs];
#pragma unroll
  for (unsigned o = 0; o < kOutputs; ++o)
    of_input[o] = o < outputs ? weights[static_cast<std::size_t>(o) * inputs + min(i, inputs - 1)] : 0.0f;
  float sums[kSamplesOfBlock] = {};
#pragma unroll
  for (unsigned k = 0; k < kSamplesOfBlock; ++k) {
    const std::size_t sample = min(first + k, samples - 1);
    const float* const row = gradient + sample * outputs;
#pragma unroll
    for (unsigned o = 0; o < kOutputs; ++o) sums[k] += row[min(o, outputs - 1)] * of_input[o];
    if constexpr (A != Activation::none) sums[k] = activation_gradient<A>(widened(in[sample * inputs + min(i, inputs - 1)]), sums[k]);
  }
#pragma unroll
  for (unsigned k = 0; k < kSamplesOfBlock; ++k)
    if (i < inputs && first + k < samples) to[static_cast<std::size_t>(first + k) * inputs + i] = narrowed<T>(sums[k]);
}

constexpr unsigned kColumns = 32, kSplits = 32, kSplitSamples = 32;

// Block (columns, split) of 32 x kSplitWarps threads: a thread sums one input over every stride-th sample. The bias is handled
// as the weight of an additional input that is always 1.
constexpr unsigned kSplitWarps = 8;
template <unsigned kOutputs, class T>
__global__ void __launch_bounds__(kColumns * kSplitWarps)
    add_products(const T* in, const float* gradient, float* weights, float* bias, float* partial, unsigned* finished,
                 unsigned samples, unsigned inputs, unsigned outputs) {
  __shared__ float parts[kSplitWarps][kOutputs][kColumns];
  const unsigned x = threadIdx.x % kColumns, warp = threadIdx.x / kColumns;
  const unsigned column = blockIdx.x * kColumns + x, splits = gridDim.y, stride = splits * kSplitWarps;
  float sums[kOutputs] = {};
  wait_for_previous_kernel();
  for (unsigned first = blockIdx.y * kSplitWarps + warp; first < samples; first += kAtOnce * stride) {
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const unsigned sample = first + k * stride;
      const std::size_t at = min(sample, samples - 1);
      float value = widened(in[at * inputs + min(column, inputs - 1)]);
      if (column >= inputs) value = 1;
      if (sample >= samples) value = 0;
#pragma unroll
      for (unsigned o = 0; o < kOutputs; ++o) sums[o] += value * gradient[at * outputs + min(o, outputs - 1)];
    }
  }
#pragma unroll
  for (unsigned o = 0; o < kOutputs; ++o) parts[warp][o][x] = sums[o];
  __syncthreads();
  // From here on the threads split the block's (outputs, columns) elements.
  const auto element = [&](unsigned i, float sum) {
    const unsigned o = i / kColumns, at = blockIdx.x * kColumns + i % kColumns;
    if (at < inputs) weights[static_cast<std::size_t>(o) * inputs + at] = sum;
    if (at == inputs && bias != nullptr) bias[o] = sum;
  };
  const std::size_t block = static_cast<std::size_t>(blockIdx.x) * splits * kOutputs * kColumns;
  for (unsigned i = threadIdx.x; i < outputs * kColumns; i += blockDim.x) {
    float sum = 0;
    for (unsigned k = 0; k < kSplitWarps; ++k) sum += parts[k][i / kColumns][i % kColumns];
    if (splits == 1) element(i, sum);
    else partial[block + blockIdx.y * kOutputs * kColumns + i] = sum;
  }
  if (splits == 1 || !arithmetic::last_to_arrive(finished + blockIdx.x, splits)) return;
  for (unsigned i = threadIdx.x; i < outputs * kColumns; i += blockDim.x) {
    // All loads at once.
    float values[kSplits];
#pragma unroll
    for (unsigned k = 0; k < kSplits; ++k) values[k] = __ldcg(partial + block + min(k, splits - 1) * kOutputs * kColumns + i);
    float sum = 0;
#pragma unroll
    for (unsigned k = 0; k < kSplits; ++k) sum += k < splits ? values[k] : 0.0f;
    element(i, sum);
  }
}

// Calls f with the number of outputs that a kernel is compiled for, as a constant.
template <class F> void with_outputs(std::size_t outputs, F f) {
  if (outputs <= 4) return f(std::integral_constant<unsigned, 4>());
  if (outputs <= 10) return f(std::integral_constant<unsigned, 10>());
  return f(std::integral_constant<unsigned, NarrowDense::kOutputs>());
}

unsigned tiles(std::size_t inputs) { return static_cast<unsigned>((inputs + 1 + kColumns - 1) / kColumns); }

}  // namespace

NarrowDense::NarrowDense(CudaDevice& device, Element element, std::size_t inputs, std::size_t outputs)
    : device_(device), element_(element), inputs_(inputs), outputs_(outputs),
      partial_(device, tiles(inputs) * std::size_t{kSplits} * kOutputs * kColumns), finished_(device, tiles(inputs)) {}

void NarrowDense::forward(Activation activation, const void* in, const float* weights, const float* bias, float* out,
                          std::size_t samples) const {
  if (samples == 0) return;
  with_element(element_, [&](auto type) {
    using T = decltype(type);
    with_activation(activation, [&](auto chosen) {
      constexpr Activation A = decltype(chosen)::value;
      with_outputs(outputs_, [&](auto most) {
        const auto run = [&](auto team) {
          constexpr unsigned kTeams = kWarps / team;
          const auto n = static_cast<unsigned>(samples);
          launch(device_.compute_stream(), (n + kTeams - 1) / kTeams, kBlock, 0, multiply_rows<A, most, team, T>,
                 static_cast<const T*>(in), weights, bias, out, n, static_cast<unsigned>(inputs_), static_cast<unsigned>(outputs_));
        };
        if (inputs_ <= kAtOnce * 32) run(std::integral_constant<unsigned, 1>());
        else run(std::integral_constant<unsigned, kWarps>());
      });
    });
  });
}

void NarrowDense::backward_data(const float* gradient, const float* weights, Activation activation, const void* in, void* to,
                                std::size_t samples) const {
  const auto n = static_cast<unsigned>(samples), inputs = static_cast<unsigned>(inputs_);
  const unsigned blocks = (n + kSamplesOfBlock - 1) / kSamplesOfBlock * ((inputs + kBlock - 1) / kBlock);
  with_element(element_, [&](auto type) {
    using T = decltype(type);
    with_activation(activation, [&](auto chosen) {
      constexpr Activation A = decltype(chosen)::value;
      with_outputs(outputs_, [&](auto most) {
        launch(device_.compute_stream(), blocks, kBlock, 0, spread<A, most, T>, gradient, weights, static_cast<const T*>(in),
               static_cast<T*>(to), n, inputs, static_cast<unsigned>(outputs_));
      });
    });
  });
}

void NarrowDense::backward_weights(cudaStream_t stream, const void* in, const float* gradient, float* weights, float* bias,
                                   std::size_t samples) const {
  const auto n = static_cast<unsigned>(samples);
  const dim3 grid(tiles(inputs_), std::clamp(n / kSplitSamples, 1u, kSplits));
  with_element(element_, [&](auto type) {
    using T = decltype(type);
    with_outputs(outputs_, [&](auto most) {
      launch(stream, grid, kColumns * kSplitWarps, 0, add_products<most, T>, static_cast<const T*>(in), gradient, weights, bias,
             partial_.data(), finished_.data(), n, static_cast<unsigned>(inputs_), static_cast<unsigned>(outputs_));
    });
  });
}

}  // namespace mgcompare::cuda
