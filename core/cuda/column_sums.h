#pragma once

// Sums over the rows of a matrix, several per column, in a fixed order: gradients of biases, statistics and gradients of batch
// normalisation. For nvcc only.

#include <algorithm>
#include <cstddef>

#include "cuda/column_walk.h"
#include "cuda/device.h"
#include "mgcompare/detail/block_cuda.h"

namespace mgcompare::cuda {

namespace kernels {

inline constexpr unsigned kSumThreads = 256;

// Adds the values of the threads of one lane, in a fixed order; the first `lanes` threads have the sums. Thread (lane, row) is number
// row * lanes + lane; `lanes` is a power of two up to 32.
template <int N> __device__ void sum_lanes(unsigned lanes, float (&sums)[N]) {
  __shared__ float tile[N][kSumThreads];
  for (unsigned apart = 16; apart >= lanes; apart /= 2) {
#pragma unroll
    for (int k = 0; k < N; ++k) sums[k] += __shfl_xor_sync(0xffffffffu, sums[k], apart);
  }
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  __syncthreads();  // the sums of an earlier call have been read
  if (lane < lanes) {
#pragma unroll
    for (int k = 0; k < N; ++k) tile[k][warp * lanes + lane] = sums[k];
  }
  __syncthreads();
  if (threadIdx.x >= lanes) return;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    sums[k] = tile[k][lane];
#pragma unroll
    for (unsigned other = 1; other < kSumThreads / 32; ++other) sums[k] += tile[k][other * lanes + lane];
  }
}

// Block (group of columns, split): each thread has V neighbouring columns of every so-many-th row.
template <int K, int V, class Term, class Finish>
__global__ void __launch_bounds__(kSumThreads, kWalkBlocks)
    column_sums(std::size_t rows, unsigned columns, unsigned lanes, float* partial, unsigned* finished, Term term, Finish finish) {
  const unsigned lane = threadIdx.x % lanes, row = threadIdx.x / lanes, tall = kSumThreads / lanes;
  const unsigned column = (blockIdx.x * lanes + lane) * V, splits = gridDim.y;
  const bool inside = column < columns;
  wait_for_previous_kernel();
  float sums[K * V] = {};
  const auto give = [&] {
    if (!inside || row != 0) return;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      float totals[K];
#pragma unroll
      for (int k = 0; k < K; ++k) totals[k] = sums[k * V + v];
      finish(column + v, totals);
    }
  };
  if constexpr (requires { term.template known<V>(column, sums); }) {
    if (!__syncthreads_or(inside && !term.template known<V>(column, sums))) {
      if (blockIdx.y == 0) give();
      return;
    }
#pragma unroll
    for (int k = 0; k < K * V; ++k) sums[k] = 0;
  }
  if (inside) {
    const auto at = term.template at<V>(column);
    walk_rows<Term::kAhead>(static_cast<std::size_t>(blockIdx.y) * tall + row, static_cast<std::size_t>(splits) * tall, rows, columns, column, at,
                            [&](std::size_t position, const auto& held) { at(position, held, sums); });
  }
  sum_lanes(lanes, sums);
  if (splits == 1) return give();
  if (inside && row == 0) {
#pragma unroll
    for (int k = 0; k < K; ++k)
#pragma unroll
      for (int v = 0; v < V; ++v)
        partial[(static_cast<std::size_t>(k) * splits + blockIdx.y) * columns + column + v] = sums[k * V + v];
  }
  if (!arithmetic::last_to_arrive(finished + blockIdx.x, splits)) return;
#pragma unroll
  for (int k = 0; k < K * V; ++k) sums[k] = 0;
  if (inside) {
#pragma unroll 4
    for (unsigned split = row; split < splits; split += tall)
#pragma unroll
      for (int k = 0; k < K; ++k)
#pragma unroll
        for (int v = 0; v < V; ++v)
          sums[k * V + v] += __ldcg(partial + (static_cast<std::size_t>(k) * splits + split) * columns + column + v);
  }
  sum_lanes(lanes, sums);
  give();
}

}  // namespace kernels

// Ends the sum of a column: stores it, unless `sums` is null.
struct StoreSum {
  float* sums;
  __device__ void operator()(unsigned column, const float (&totals)[1]) const {
    if (sums != nullptr) sums[column] = totals[0];
  }
};

// The memory for the sums of one matrix at a time.
class ColumnSums {
 public:
  ColumnSums(CudaDevice& device, std::size_t columns)
      : device_(device), columns_(static_cast<unsigned>(columns)), partial_(device, 2 * columns * most_splits(columns)),
        finished_(device, columns) {}

  // For each column, K sums (1 or 2) over the rows. A term's call has a third argument: it adds to sums[k * V + v] for V columns; it may
  // also write to the matrix. If it has a function known(column, sums), which stores the sums of V columns and returns
  // true if it knows them, columns whose sums are known are not walked. finish(column, totals) is called once per column, also without rows. The
  // pointers are those that the term reads and writes.
  template <int K, class Term, class Finish, class T, class... Rest>
  void sum(std::size_t rows, const Term& term, const Finish& finish, const T* first, const Rest*... rest) const {
    with_columns_of_thread(
        columns_,
        [&](auto pack) {
          constexpr int V = decltype(pack)::value;
          // 128 bytes of a row, which memory delivers at once. More threads of a row would leave fewer for the sum over the splits.
          const unsigned lanes = lanes_for(columns_ / V, std::min<unsigned>(32, 128 / (V * sizeof(T))));
          const unsigned groups = (columns_ + lanes * V - 1) / (lanes * V), tall = kernels::kSumThreads / lanes;
          const std::size_t wanted = rows / (4 * static_cast<std::size_t>(tall));
          const auto splits = static_cast<unsigned>(
              std::clamp<std::size_t>(wanted, 1, std::min<std::size_t>(most_splits(columns_), std::max(1u, kBlocks / groups))));
          launch(device_.compute_stream(), dim3(groups, splits), kernels::kSumThreads, 0, kernels::column_sums<K, V, Term, Finish>,
                 rows, columns_, lanes, partial_.data(), finished_.data(), term, finish);
        },
        first, rest...);
  }

 private:
  static constexpr unsigned kBlocks = 132 * kernels::kWalkBlocks;
  // Whatever the columns of a thread: at most 64 columns per group.
  static std::size_t most_splits(std::size_t columns) {
    return std::clamp<std::size_t>(kBlocks * std::size_t{64} / std::max<std::size_t>(columns, 1), 1, kBlocks);
  }
  CudaDevice& device_;
  unsigned columns_;
  Array<float> partial_;
  Array<unsigned> finished_;
};

}  // namespace mgcompare::cuda
