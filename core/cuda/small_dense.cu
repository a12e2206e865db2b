#include "cuda/small_dense.h"

#include <type_traits>

#include "cuda/activation_math.h"
#include "cuda/capability.h"
#include "cuda/pack.h"
#include "cuda/tensor_core.h"

namespace mgcompare::cuda {
namespace {

constexpr unsigned kWarps = 8, kBlock = kWarps * 32;
constexpr unsigned kTerms = 16;             // of a step of a warp: 4 of each of 4 lanes
// A lane has 2 or 4 neighbouring lines of each operand. A line is a row of the first operand or a column of the second one.
template <int kLines> inline constexpr unsigned kSide = 8 * kLines;  // of a block's part of the result
constexpr unsigned kHeldBytes = 256;        // of a lane: what its loads in flight may take of its registers

// A matrix of lines and terms of a product. The terms of a line are contiguous, or, transposed, the lines of a term. `kPacked`: a
// lane's neighbouring values are loaded at once, for which both sizes are multiples of four, and the address is aligned.
template <class T, bool kTransposed, bool kPacked> struct Operand {
  using Value = T;
  static constexpr unsigned kBytesInRegisters = kPacked ? sizeof(T) : 4;
  const T* values;
  unsigned lines, terms;

  template <int kLines> struct Held {
    T values[kLines][4];
  };

  // The values of kLines lines and four terms. What is beyond the matrix repeats what is in it: with a branch only one load would be
  // in flight.
  template <int kLines> __device__ Held<kLines> load(unsigned line, unsigned term) const {
    Held<kLines> held;
    if constexpr (kPacked && kTransposed) {
      const unsigned at = min(line, lines - kLines);
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) {
        const auto pack = *reinterpret_cast<const Pack<T, kLines>*>(values + static_cast<std::size_t>(min(term + k, terms - 1)) * lines + at);
#pragma unroll
        for (int j = 0; j < kLines; ++j) held.values[j][k] = pack.items[j];
      }
    } else if constexpr (kPacked) {
      const unsigned at = min(term, terms - 4);
#pragma unroll
      for (unsigned j = 0; j < kLines; ++j) {
        const auto pack = *reinterpret_cast<const Pack<T, 4>*>(values + static_cast<std::size_t>(min(line + j, lines - 1)) * terms + at);
#pragma unroll
        for (int k = 0; k < 4; ++k) held.values[j][k] = pack.items[k];
      }
    } else {
#pragma unroll
      for (unsigned j = 0; j < kLines; ++j) {
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) {
          const std::size_t l = min(line + j, lines - 1), t = min(term + k, terms - 1);
          held.values[j][k] = values[kTransposed ? t * lines + l : l * terms + t];
        }
      }
    }
    return held;
  }
};

// The factors of one line in the form of the tensor cores: tf32 if `T` is float, pairs of bf16 otherwise.
template <class T> struct Factors {
  float values[4];
  template <class V> __device__ explicit Factors(const V (&held)[4]) {
#pragma unroll
    for (int k = 0; k < 4; ++k) values[k] = to_tf32(held[k]);
  }
};
template <> struct Factors<__nv_bfloat16> {
  unsigned pairs[2];
  template <class V> __device__ explicit Factors(const V (&held)[4]) {
#pragma unroll
    for (int k = 0; k < 2; ++k) pairs[k] = paired(as_bf16(held[2 * k]), as_bf16(held[2 * k + 1]));
  }
  __device__ static __nv_bfloat16 as_bf16(float value) { return narrowed<__nv_bfloat16>(value); }
  __device__ static __nv_bfloat16 as_bf16(__nv_bfloat16 value) { return value; }
};

// sums += the products of two lines of the first and one line of the second operand over four terms of each of four lanes. The
// order of the terms within a step is that in which the lanes hold them, the same for both operands.
__device__ inline void multiply_lines(float (&sums)[4], const Factors<float>& first, const Factors<float>& second, const Factors<float>& other) {
#pragma unroll
  for (int k = 0; k < 4; k += 2) {
    const float a[4] = {first.values[k], second.values[k], first.values[k + 1], second.values[k + 1]};
    const float b[2] = {other.values[k], other.values[k + 1]};
    multiply_add(sums, a, b);
  }
}

__device__ inline void multiply_lines(float (&sums)[4], const Factors<__nv_bfloat16>& first, const Factors<__nv_bfloat16>& second,
                                      const Factors<__nv_bfloat16>& other) {
  const unsigned a[4] = {first.pairs[0], second.pairs[0], first.pairs[1], second.pairs[1]};
  multiply_add(sums, a, other.pairs);
}

// result[line of a][line of b] = finish(sum of the products of the two lines, index in the result, line of b). If `line_sums` is not
// null, it receives the sum of each line of a. Block (part of the lines of b, part of the lines of a).
template <int kLines, class A, class B, class R, class Finish>
__global__ void __launch_bounds__(kBlock, 2) multiply_small(A a, B b, R* result, float* line_sums, Finish finish) {
  using T = typename A::Value;
  constexpr unsigned side = kSide<kLines>, stride = kWarps * kTerms;
  constexpr unsigned ahead = kHeldBytes / (4 * kLines * (A::kBytesInRegisters + B::kBytesInRegisters));  // steps whose loads are in flight
  // Line j of lane row r is row 8 j + r, so that the lanes of a warp write to different banks.
  __shared__ __align__(16) float parts[kWarps][side][side + 4];
  __shared__ float parts_of_lines[kWarps][side];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane / 4, column = lane % 4;
  const unsigned first_a = blockIdx.y * side, first_b = blockIdx.x * side, terms = a.terms;
  const bool sums_lines = line_sums != nullptr && blockIdx.x == 0;
  float sums[kLines / 2][kLines][4] = {};
  float of_lines[kLines] = {};
  typename A::template Held<kLines> of_a[ahead];
  typename B::template Held<kLines> of_b[ahead];
  const auto load = [&](unsigned s, unsigned begin) {
    if (begin >= terms) return;
    of_a[s] = a.template load<kLines>(first_a + kLines * row, begin + 4 * column);
    of_b[s] = b.template load<kLines>(first_b + kLines * row, begin + 4 * column);
  };
  wait_for_previous_kernel();
#pragma unroll
  for (unsigned s = 0; s < ahead; ++s) load(s, warp * kTerms + s * stride);
  for (unsigned first = warp * kTerms; first < terms; first += ahead * stride) {
#pragma unroll
    for (unsigned s = 0; s < ahead; ++s) {
      const unsigned begin = first + s * stride, term = begin + 4 * column;
      if (begin >= terms) break;
      auto& held_a = of_a[s].values;
      auto& held_b = of_b[s].values;
      // Terms beyond the last count as zero in both operands, whatever stands there.
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) {
        if (term + k < terms) continue;
#pragma unroll
        for (int j = 0; j < kLines; ++j) {
          held_a[j][k] = narrowed<T>(0.0f);
          held_b[j][k] = narrowed<typename B::Value>(0.0f);
        }
      }
      if (sums_lines) {
#pragma unroll
        for (int j = 0; j < kLines; ++j) of_lines[j] += (widened(held_a[j][0]) + widened(held_a[j][1])) + (widened(held_a[j][2]) + widened(held_a[j][3]));
      }
#pragma unroll
      for (int u = 0; u < kLines / 2; ++u) {
        const Factors<T> one(held_a[2 * u]), other(held_a[2 * u + 1]);
#pragma unroll
        for (int t = 0; t < kLines; ++t) multiply_lines(sums[u][t], one, other, Factors<T>(held_b[t]));
      }
      load(s, begin + ahead * stride);
    }
  }
#pragma unroll
  for (int u = 0; u < kLines / 2; ++u) {
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      Pack<float, kLines> of_line;
#pragma unroll
      for (int t = 0; t < kLines; ++t) of_line.items[t] = sums[u][t][q];
      *reinterpret_cast<Pack<float, kLines>*>(&parts[warp][8 * (2 * u + q / 2) + row][kLines * (2 * column + q % 2)]) = of_line;
    }
  }
  if (sums_lines) {
#pragma unroll
    for (int j = 0; j < kLines; ++j) {
      of_lines[j] += __shfl_xor_sync(0xffffffffu, of_lines[j], 1);
      of_lines[j] += __shfl_xor_sync(0xffffffffu, of_lines[j], 2);
      if (column == 0) parts_of_lines[warp][kLines * row + j] = of_lines[j];
    }
  }
  __syncthreads();
#pragma unroll
  for (unsigned i = threadIdx.x; i < side * side; i += kBlock) {
    const unsigned line_a = first_a + i / side, line_b = first_b + i % side;
    float sum = 0;
#pragma unroll
    for (unsigned w = 0; w < kWarps; ++w) sum += parts[w][8 * (i / side % kLines) + i / side / kLines][i % side];
    if (line_a >= a.lines || line_b >= b.lines) continue;
    const std::size_t at = static_cast<std::size_t>(line_a) * b.lines + line_b;
    result[at] = narrowed<R>(finish(sum, at, line_b));
  }
  if (!sums_lines || threadIdx.x >= side || first_a + threadIdx.x >= a.lines) return;
  float sum = 0;
  for (unsigned w = 0; w < kWarps; ++w) sum += parts_of_lines[w][threadIdx.x];
  line_sums[first_a + threadIdx.x] = sum;
}

template <Activation A> struct Activated {
  const float* bias;
  __device__ float operator()(float sum, std::size_t, unsigned output) const {
    return activated<A>(bias == nullptr ? sum : sum + bias[output]);
  }
};

template <Activation A, class T> struct Differentiated {
  const T* y;
  __device__ float operator()(float sum, std::size_t at, unsigned) const {
    if constexpr (A == Activation::none) return sum;
    else return activation_gradient<A>(widened(y[at]), sum);
  }
};

struct AsIs {
  __device__ float operator()(float sum, std::size_t, unsigned) const { return sum; }
};

template <class T> bool packs(const void* matrix, std::size_t rows, std::size_t columns) {
  return rows % 4 == 0 && columns % 4 == 0 && reinterpret_cast<std::uintptr_t>(matrix) % sizeof(Pack<T, 4>) == 0;
}

// A row-major matrix whose rows are the lines, or, transposed, the terms.
struct Matrix {
  const void* values;
  std::size_t rows, columns;
};

struct Launch {
  cudaStream_t stream;
  std::size_t processors;
};

// T and U: what the operands store.
template <class T, class U, bool kTransposedA, bool kTransposedB, class R, class Finish>
void multiply(const Launch& on, const Matrix& a, const Matrix& b, R* result, float* line_sums, Finish finish) {
  const auto lines = [](const Matrix& m, bool transposed) { return static_cast<unsigned>(transposed ? m.columns : m.rows); };
  const auto terms = [](const Matrix& m, bool transposed) { return static_cast<unsigned>(transposed ? m.rows : m.columns); };
  const unsigned lines_a = lines(a, kTransposedA), lines_b = lines(b, kTransposedB);
  const auto parts = [](unsigned size, unsigned side) { return (size + side - 1) / side; };
  // Smaller parts where larger ones would leave most of the device idle.
  const bool large = std::size_t{parts(lines_a, kSide<4>)} * parts(lines_b, kSide<4>) * 2 > on.processors;
  const auto run = [&](auto packed, auto count) {
    constexpr bool kPacked = decltype(packed)::value;
    constexpr int kLines = decltype(count)::value;
    using OperandA = Operand<T, kTransposedA, kPacked>;
    using OperandB = Operand<U, kTransposedB, kPacked>;
    const dim3 grid(parts(lines_b, kSide<kLines>), parts(lines_a, kSide<kLines>));
    launch(on.stream, grid, kBlock, 0, multiply_small<kLines, OperandA, OperandB, R, Finish>,
           OperandA{static_cast<const T*>(a.values), lines_a, terms(a, kTransposedA)},
           OperandB{static_cast<const U*>(b.values), lines_b, terms(b, kTransposedB)}, result, line_sums, finish);
  };
  if (!packs<T>(a.values, a.rows, a.columns) || !packs<U>(b.values, b.rows, b.columns)) run(std::false_type(), std::integral_constant<int, 2>());
  else if (large) run(std::true_type(), std::integral_constant<int, 4>());
  else run(std::true_type(), std::integral_constant<int, 2>());
}

}  // namespace

bool SmallDense::supports(const CudaDevice& device, Precision precision) {
  const DeviceGuard guard(device.index());
  return precision != Precision::fp32 && supports_tensor_floats();
}

SmallDense::SmallDense(CudaDevice& device, Element element, std::size_t inputs, std::size_t outputs)
    : device_(device), element_(element), inputs_(inputs), outputs_(outputs),
      processors_(static_cast<std::size_t>(device.attribute(cudaDevAttrMultiProcessorCount))) {}

// Calls f(T(), U()) with the types of the inputs and of the weights.
template <class F> void SmallDense::with_types(Element weights, F f) const {
  with_element(element_, [&](auto type) {
    if (weights == Element::fp32) f(type, float());
    else f(type, type);
  });
}

void SmallDense::forward(Activation activation, const void* in, const Weights& weights, const float* bias, void* out,
                         std::size_t rows) const {
  if (rows == 0) return;
  with_types(weights.element, [&](auto type, auto stored) {
    using T = decltype(type);
    with_activation(activation, [&](auto chosen) {
      multiply<T, decltype(stored), false, false>({device_.compute_stream(), processors_}, {in, rows, inputs_},
                                                  {weights.values, outputs_, inputs_}, static_cast<T*>(out), nullptr,
                                                  Activated<decltype(chosen)::value>{bias});
    });
  });
}

void SmallDense::backward_data(const void* gradient, const Weights& weights, Activation activation, const void* in, void* to,
                               std::size_t rows) const {
  if (rows == 0) return;
  with_types(weights.element, [&](auto type, auto stored) {
    using T = decltype(type);
    with_activation(activation, [&](auto chosen) {
      multiply<T, decltype(stored), false, true>({device_.compute_stream(), processors_}, {gradient, rows, outputs_},
                                                 {weights.values, outputs_, inputs_}, static_cast<T*>(to), nullptr,
                                                 Differentiated<decltype(chosen)::value, T>{static_cast<const T*>(in)});
    });
  });
}

void SmallDense::backward_weights(cudaStream_t stream, const void* in, const void* gradient, float* weights, float* bias,
                                  std::size_t rows) const {
  with_element(element_, [&](auto type) {
    using T = decltype(type);
    multiply<T, T, true, true>({stream, processors_}, {gradient, rows, outputs_}, {in, rows, inputs_}, weights, bias, AsIs{});
  });
}

}  // namespace mgcompare::cuda
