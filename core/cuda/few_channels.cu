#include "cuda/few_channels.h"

#include <type_traits>

#include "cuda/activation_math.h"
#include "cuda/column_sums.h"
#include "cuda/partial_sums.h"

namespace mgcompare::cuda {

struct FewChannelsKernels {
  using Geometry = FewChannels::Geometry;
};

namespace {

using Geometry = FewChannelsKernels::Geometry;

constexpr unsigned kRun = 4;        // neighbouring pixels of a row that a thread computes one after another
constexpr unsigned kBlocks = 132 * 4;
// Of the gradients' kernel, so many blocks run on a multiprocessor at once. A second wave would have half of the work and as many sums.
template <unsigned kTerms> constexpr unsigned kAtOnce = kTerms <= 9 ? 2 : 1;
constexpr unsigned kMostPartialSums = 132 * kAtOnce<1>;
constexpr unsigned kSummed = 4;     // terms whose sums the threads of a block add at once

// A run of pixels of the output: where the first one reads, its number, and how many there are.
struct Run {
  const float* image;
  int y, x;
  unsigned first, size;
};

__device__ unsigned runs_of_row(const Geometry& g) { return (g.across + kRun - 1) / kRun; }

__device__ Run run_of(const Geometry& g, const float* in, unsigned number) {
  const unsigned runs = runs_of_row(g), line = number / runs, x = number % runs * kRun, y = line % g.down, sample = line / g.down;
  return {in + static_cast<std::size_t>(sample) * g.channels * g.height * g.width,
          static_cast<int>(y) * g.stride[0] - g.padding[0], static_cast<int>(x) * g.stride[1] - g.padding[1],
          line * g.across + x, min(kRun, g.across - x)};
}

// The input of a term at pixel `at` of a run: zero in the padding, and the last pixel's beyond the end of the run.
template <bool kPadded>
__device__ float term_of(const Geometry& g, const Run& run, unsigned at, unsigned channel, int row, int column) {
  const int y = run.y + row, x = run.x + static_cast<int>(min(at, run.size - 1)) * g.stride[1] + column;
  if (kPadded && (static_cast<unsigned>(y) >= g.height || static_cast<unsigned>(x) >= g.width)) return 0;
  return run.image[(channel * g.height + y) * g.width + x];
}

// A thread computes V neighbouring outputs of a run of pixels, which share the loads of the filter.
template <Activation A, bool kPadded, int V, class T>
__global__ void __launch_bounds__(kThreads)
    convolve(Geometry g, const float* in, const float* weights, const float* bias, T* out, unsigned runs) {
  extern __shared__ float filter[];  // (term, output)
  const unsigned terms = g.channels * g.rows * g.columns;
  wait_for_previous_kernel();
  for (unsigned i = threadIdx.x; i < terms * g.outputs; i += blockDim.x) filter[i % terms * g.outputs + i / terms] = weights[i];
  __syncthreads();
  const unsigned packs = g.outputs / V;
  const std::size_t size = static_cast<std::size_t>(runs) * packs;
  for (std::size_t i = first_index(); i < size; i += index_stride()) {
    const unsigned output = static_cast<unsigned>(i % packs) * V;
    const Run run = run_of(g, in, static_cast<unsigned>(i / packs));
    float sums[kRun][V] = {};
    unsigned term = 0;
    for (unsigned channel = 0; channel < g.channels; ++channel) {
      for (unsigned row = 0; row < g.rows; ++row) {
        for (unsigned column = 0; column < g.columns; ++column, ++term) {
          float factors[V];
          load<V>(filter + term * g.outputs + output, factors);
#pragma unroll
          for (unsigned p = 0; p < kRun; ++p) {
            const float value = term_of<kPadded>(g, run, p, channel, static_cast<int>(row), static_cast<int>(column));
#pragma unroll
            for (int k = 0; k < V; ++k) sums[p][k] += value * factors[k];
          }
        }
      }
    }
#pragma unroll
    for (unsigned p = 0; p < kRun; ++p) {
      if (p >= run.size) continue;
#pragma unroll
      for (int k = 0; k < V; ++k) sums[p][k] = activated<A>(sums[p][k] + (bias == nullptr ? 0.0f : bias[output + k]));
      store<V>(out + static_cast<std::size_t>(run.first + p) * g.outputs + output, sums[p]);
    }
  }
}

// Block (range of runs, group of outputs): a thread sums all terms of V neighbouring outputs over some of the pixels. The
// bias is one more term whose input is always 1.
template <bool kPadded, unsigned kTerms, int V, class T, class A>
__global__ void __launch_bounds__(kThreads, kAtOnce<kTerms>)
    gradients(Geometry g, A activation, const float* in, const T* y, const T* gradient, float* partial, bool with_bias,
              unsigned runs, unsigned lanes) {
  const unsigned lane = threadIdx.x % lanes, row_thread = threadIdx.x / lanes, tall = kThreads / lanes;
  const unsigned output = (blockIdx.y * lanes + lane) * V, terms = g.channels * g.rows * g.columns;
  const bool inside = output < g.outputs;
  constexpr unsigned kAll = (kTerms + kSummed) / kSummed * kSummed;
  float sums[kAll][V] = {};         // [kTerms] of the bias
  wait_for_previous_kernel();
  if (inside) {
    for (unsigned number = blockIdx.x * tall + row_thread; number < runs; number += gridDim.x * tall) {
      const Run run = run_of(g, in, number);
      float slopes[kRun][V];
#pragma unroll
      for (unsigned p = 0; p < kRun; ++p) {
        const std::size_t at = static_cast<std::size_t>(run.first + min(p, run.size - 1)) * g.outputs + output;
        load<V>(gradient + at, slopes[p]);
        if (activation.value != Activation::none) {
          float values[V];
          load<V>(y + at, values);
#pragma unroll
          for (int k = 0; k < V; ++k) slopes[p][k] = activation_gradient(activation.value, values[k], slopes[p][k]);
        }
#pragma unroll
        for (int k = 0; k < V; ++k) {
          if (p >= run.size) slopes[p][k] = 0;
          sums[kTerms][k] += slopes[p][k];
        }
      }
      unsigned channel = 0, row = 0, column = 0;
#pragma unroll
      for (unsigned term = 0; term < kTerms; ++term) {
        // Not a break, behind which the loads of the next term would have to wait.
#pragma unroll
        for (unsigned p = 0; p < kRun; ++p) {
          const float value = term < terms ? term_of<kPadded>(g, run, p, channel, static_cast<int>(row), static_cast<int>(column)) : 0.0f;
#pragma unroll
          for (int k = 0; k < V; ++k) sums[term][k] += value * slopes[p][k];
        }
        if (++column < g.columns) continue;
        column = 0;
        if (++row < g.rows) continue;
        row = 0;
        ++channel;
      }
    }
  }
  float* const mine = partial + static_cast<std::size_t>(blockIdx.x) * g.outputs * (terms + (with_bias ? 1 : 0));
#pragma unroll
  for (unsigned first = 0; first < kAll; first += kSummed) {
    float together[kSummed * V];
#pragma unroll
    for (unsigned k = 0; k < kSummed * V; ++k) together[k] = sums[first + k / V][k % V];
    kernels::sum_lanes(lanes, together);
    if (!inside || row_thread != 0) continue;
#pragma unroll
    for (unsigned k = 0; k < kSummed * V; ++k) {
      const unsigned term = first + k / V, own = output + k % V;
      if (term < kTerms && term < terms) mine[own * terms + term] = together[k];
      else if (term == kTerms && with_bias) mine[g.outputs * terms + own] = together[k];
    }
  }
}

template <unsigned N> struct Terms {
  static constexpr unsigned value = N;
};

// An activation that the kernel is told.
struct Told {
  Activation value;
};

// Calls f with the activation as it is compiled into the kernel. Those of more terms take long to compile, and are no faster for it.
template <unsigned kTerms, class F> void with_slope(Activation activation, F f) {
  if constexpr (kTerms <= 9) with_activation(activation, f);
  else f(Told{activation});
}

// Calls f with the number of terms that a kernel is compiled for.
template <class F> void with_terms(std::size_t terms, F f) {
  if (terms <= 9) return f(Terms<9>());
  if (terms <= 25) return f(Terms<25>());
  return f(Terms<FewChannels::kTerms>());
}

// Four outputs a thread, also in bf16: eight times 32 sums do not fit into registers.
template <class F> void with_outputs(std::size_t outputs, F f) {
  if (outputs % 4 == 0) return f(PackSize<4>());
  return f(PackSize<1>());
}

template <class F> void with_padding(const int (&padding)[2], F f) {
  if (padding[0] == 0 && padding[1] == 0) return f(std::false_type());
  return f(std::true_type());
}

}  // namespace

bool FewChannels::serves(const LayerSpec& spec) {
  const LayerConfig& config = spec.config;
  const std::size_t terms = spec.input_shapes.front()[0] * config.kernel[0] * config.kernel[1];
  return terms <= (spec.input_shapes.front()[0] == 1 ? kTerms : kTermsOfColours) && terms * spec.output_shape[0] * sizeof(float) <= 48u << 10;
}

FewChannels::FewChannels(CudaDevice& device, const LayerSpec& spec, Element element)
    : device_(device), element_(element),
      partial_(device, kMostPartialSums * (spec.weights.size() + spec.output_shape[0])) {
  const Shape &in = spec.input_shapes.front(), &out = spec.output_shape;
  const auto number = [](std::size_t value) { return static_cast<unsigned>(value); };
  geometry_ = {number(in[0]), number(in[1]), number(in[2]), number(out[0]), number(out[1]), number(out[2]),
               number(spec.config.kernel[0]), number(spec.config.kernel[1]), {}, {}};
  for (const int axis : {0, 1}) {
    geometry_.stride[axis] = static_cast<int>(spec.config.stride[axis]);
    geometry_.padding[axis] = static_cast<int>(spec.config.padding[axis]);
  }
}

template <class F> void FewChannels::dispatch(F f) const {
  with_element(element_, [&](auto type) {
    with_outputs(geometry_.outputs, [&](auto pack) {
      with_padding(geometry_.padding, [&](auto padded) { f.template operator()<decltype(type), decltype(pack)::value, decltype(padded)::value>(); });
    });
  });
}

std::size_t FewChannels::runs(std::size_t samples) const {
  return samples * geometry_.down * ((geometry_.across + kRun - 1) / kRun);
}

void FewChannels::forward(Activation activation, const float* in, const float* weights, const float* bias, void* out,
                          std::size_t samples) const {
  const auto runs = static_cast<unsigned>(this->runs(samples));
  const std::size_t bytes = std::size_t{geometry_.terms()} * geometry_.outputs * sizeof(float);
  dispatch([&]<class T, int V, bool kPadded>() {
    const unsigned blocks = std::min(blocks_for(std::size_t{runs} * (geometry_.outputs / V)), kBlocks * 2);
    with_activation(activation, [&](auto chosen) {
      launch(device_.compute_stream(), blocks, kThreads, bytes, convolve<decltype(chosen)::value, kPadded, V, T>, geometry_, in, weights, bias,
             static_cast<T*>(out), runs);
    });
  });
}

void FewChannels::backward(Activation activation, const float* in, const void* y, const void* gradient, float* to,
                           bool has_bias_gradient, std::size_t samples) const {
  const auto runs = static_cast<unsigned>(this->runs(samples));
  unsigned blocks = 0;
  dispatch([&]<class T, int V, bool kPadded>() {
    with_terms(geometry_.terms(), [&](auto terms) {
      const unsigned lanes = lanes_for(geometry_.outputs / V, 32);
      const unsigned groups = (geometry_.outputs + lanes * V - 1) / (lanes * V), tall = kThreads / lanes;
      blocks = std::clamp(runs / tall, 1u, std::max(1u, 132 * kAtOnce<decltype(terms)::value> / groups));
      with_slope<decltype(terms)::value>(activation, [&](auto slope) {
        launch(device_.compute_stream(), dim3(blocks, groups), kThreads, 0, gradients<kPadded, decltype(terms)::value, V, T, decltype(slope)>,
               geometry_, slope, in, static_cast<const T*>(y), static_cast<const T*>(gradient), partial_.data(), has_bias_gradient, runs, lanes);
      });
    });
  });
  const std::size_t size = std::size_t{geometry_.outputs} * (geometry_.terms() + (has_bias_gradient ? 1 : 0));
  sum_partials(device_.compute_stream(), partial_.data(), blocks, size, to);
}

}  // namespace mgcompare::cuda
