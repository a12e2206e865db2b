#pragma once

// Kernels over the rows of a matrix whose threads keep their columns, so that what belongs to a column is loaded once: batch
// normalisation and biases, whose matrix is (samples and pixels) x channels. For nvcc only.
//
// What a kernel computes is a term: term.at<V>(column) returns an object for V neighbouring columns with two functions, held =
// load(position) and a call with (position, held), where `position` is that of the first element in the matrix.

#include <algorithm>
#include <cstddef>

#include "cuda/pack.h"

namespace mgcompare::cuda {

// Neighbouring columns of a thread, where their number and the pointers allow it. More of bf16, which 16 bytes would hold, need
// so many registers for what belongs to the columns that fewer threads fit on a multiprocessor.
inline constexpr int kColumnsOfThread = 4;

template <class F, class T, class... Rest> void with_columns_of_thread(std::size_t columns, F f, const T* first, const Rest*... rest) {
  if (columns % kColumnsOfThread == 0 && is_packed(first) && (is_packed(rest) && ...)) return f(PackSize<kColumnsOfThread>());
  return f(PackSize<1>());
}

namespace kernels {

// Blocks of a multiprocessor; it limits the registers of a thread to 64.
inline constexpr unsigned kWalkBlocks = 4;

// Elements of V columns as they are stored.
template <class T, int V> __device__ Pack<T, V> hold(const T* from) { return *reinterpret_cast<const Pack<T, V>*>(from); }

template <class T, int V> __device__ void widen(const Pack<T, V>& held, float (&values)[V]) {
#pragma unroll
  for (int k = 0; k < V; ++k) values[k] = widened(held.items[k]);
}

// Calls apply(position, held) for the rows first, first + step, ... Several rows are loaded before the first is used, which
// hides the latency of memory; the compiler does not do so across writes.
template <unsigned kAhead, class At, class Apply>
__device__ void walk_rows(std::size_t first, std::size_t step, std::size_t rows, std::size_t columns, unsigned column, const At& at,
                          Apply apply) {
  std::size_t row = first;
  for (; row + (kAhead - 1) * step < rows; row += kAhead * step) {
    decltype(at.load(0)) held[kAhead];
#pragma unroll
    for (unsigned k = 0; k < kAhead; ++k) held[k] = at.load((row + k * step) * columns + column);
#pragma unroll
    for (unsigned k = 0; k < kAhead; ++k) apply((row + k * step) * columns + column, held[k]);
  }
  for (; row < rows; row += step) apply(row * columns + column, at.load(row * columns + column));
}

// Block (group of columns, rows in turn).
template <int V, class Term>
__global__ void __launch_bounds__(kThreads, kWalkBlocks) map_columns(std::size_t rows, unsigned columns, unsigned lanes, Term term) {
  const unsigned column = (blockIdx.x * lanes + threadIdx.x % lanes) * V, tall = kThreads / lanes;
  wait_for_previous_kernel();
  if (column >= columns) return;
  const auto at = term.template at<V>(column);
  walk_rows<Term::kAhead>(static_cast<std::size_t>(blockIdx.y) * tall + threadIdx.x / lanes, static_cast<std::size_t>(gridDim.y) * tall, rows,
                          columns, column, at, at);
}

}  // namespace kernels

// Rows that a thread loads ahead, of so many matrices of T: 64 bytes, which fit into registers beside what belongs to the columns.
template <class T, unsigned kMatrices> inline constexpr unsigned kRowsAhead = 16 / sizeof(T) / kMatrices;

// Calls a term for all rows. The pointers are those that it reads and writes.
template <class Term, class T, class... Rest>
void map_columns(cudaStream_t stream, std::size_t rows, std::size_t columns, const Term& term, const T* first, const Rest*... rest) {
  if (rows == 0) return;
  with_columns_of_thread(
      columns,
      [&](auto pack) {
        constexpr int V = decltype(pack)::value;
        const std::size_t packs = columns / V;
        const unsigned lanes = lanes_for(packs, 32);
        const std::size_t groups = (packs + lanes - 1) / lanes, tall = kThreads / lanes;
        const std::size_t down = std::clamp<std::size_t>(rows / (tall * Term::kAhead), 1, std::max<std::size_t>(1, 132 * 16 / groups));
        launch(stream, dim3(static_cast<unsigned>(groups), static_cast<unsigned>(down)), kThreads, 0, kernels::map_columns<V, Term>, rows,
               static_cast<unsigned>(columns), lanes, term);
      },
      first, rest...);
}

}  // namespace mgcompare::cuda
