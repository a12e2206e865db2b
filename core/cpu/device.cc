#include "cpu/device.h"

#include <dnnl.h>
#include <malloc.h>
#include <sys/sysinfo.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/free_memory.h"
#include "cpu/huge_pages.h"

namespace mgcompare {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLarge = 2 * kHugePage;

}  // namespace

void MemoryMeter::add(std::uint64_t bytes) {
  const std::uint64_t now = held_ += bytes;
  std::uint64_t seen = peak_;
  while (seen < now && !peak_.compare_exchange_weak(seen, now)) {}
}

void* CpuDevice::allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment + (bytes == 0 ? kAlignment : 0);
  void* memory = nullptr;
  if (rounded >= bytes) memory = rounded < kLarge ? std::aligned_alloc(kAlignment, rounded) : allocate_huge_pages(rounded);
  if (memory == nullptr) {
    struct sysinfo info {};
    sysinfo(&info);
    throw OutOfMemory(bytes, static_cast<std::size_t>(usable_memory()), info.totalram * info.mem_unit);
  }
  std::memset(memory, 0, rounded);
  meter_.add(malloc_usable_size(memory));
  return memory;
}

void CpuDevice::release(void* memory) noexcept {
  if (memory == nullptr) return;
  meter_.remove(malloc_usable_size(memory));
  std::free(memory);
}

void CpuDevice::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memmove(to, from, bytes);
}

void CpuDevice::zero(void* memory, std::size_t bytes) {
  if (bytes != 0) std::memset(memory, 0, bytes);
}

void CpuDevice::matmul(const Matmul& p) {
  if (p.m == 0 || p.n == 0) return;
  const auto m = static_cast<dnnl_dim_t>(p.m), n = static_cast<dnnl_dim_t>(p.n), k = static_cast<dnnl_dim_t>(p.k);
  const dnnl_status_t status = dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', m, n, k, p.alpha, p.a,
                                          p.transpose_a ? m : k, p.b, p.transpose_b ? k : n, p.beta, p.c, n);
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  if (status != dnnl_success)
    throw Error("oneDNN failed to multiply " + std::to_string(m) + " x " + std::to_string(k) + " by " + std::to_string(k) +
                " x " + std::to_string(n) + " matrices (status " + std::to_string(status) +
                "): report this with the config");
}

}  // namespace mgcompare
