#include "cuda/partial_sums.h"

#include "cuda/launch.h"

namespace mgcompare::cuda {
namespace {

constexpr unsigned kColumns = 32, kRows = 16;

__global__ void add_rows(const float* partial, unsigned blocks, unsigned size, float* sums) {
  __shared__ float tile[kRows][kColumns + 1];
  const unsigned x = threadIdx.x % kColumns, y = threadIdx.x / kColumns, column = blockIdx.x * kColumns + x;
  float sum = 0;
  wait_for_previous_kernel();
  if (column < size) {
#pragma unroll 4
    for (unsigned row = y; row < blocks; row += kRows) sum += partial[static_cast<std::size_t>(row) * size + column];
  }
  tile[y][x] = sum;
  __syncthreads();
  if (y != 0 || column >= size) return;
  for (unsigned row = 1; row < kRows; ++row) sum += tile[row][x];
  sums[column] = sum;
}

}  // namespace

void sum_partials(cudaStream_t stream, const float* partial, std::size_t blocks, std::size_t size, float* sums) {
  launch(stream, static_cast<unsigned>((size + kColumns - 1) / kColumns), kColumns * kRows, 0, add_rows, partial,
         static_cast<unsigned>(blocks), static_cast<unsigned>(size), sums);
}

}  // namespace mgcompare::cuda
