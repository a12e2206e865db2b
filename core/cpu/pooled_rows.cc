#include "cpu/pooled_rows.h"

namespace mgcompare {

bool PooledRows::fit(const LayerConfig& pool) {
  return pool.kernel[0] == pool.stride[0] && pool.kernel[1] == pool.stride[1] && pool.padding[0] == 0 && pool.padding[1] == 0 &&
         pool.kernel[0] * pool.kernel[1] <= 256;
}

PooledRows::PooledRows(const LayerConfig& pool, std::size_t width) : height_(pool.kernel[0]), across_(pool.kernel[1]), width_(width) {}

void PooledRows::reserve(Device& device, std::size_t elements) { choices_ = Array<std::uint8_t>(device, elements); }

void PooledRows::pool(const float* rows, Activation activation, float* output, std::size_t at) {
  kernels().pool_row(rows, width_, height_, across_, activation, output + at, choices_.data() + at);
}

void PooledRows::unpool(const float* gradient, std::size_t at, float* rows) const {
  kernels().unpool_row(gradient + at, choices_.data() + at, width_, height_, across_, rows);
}

}  // namespace mgcompare
