#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cpu/kernels.h"
#include "cpu/kernels_sets.h"

#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#endif

#define MGCOMPARE_KERNELS avx512

namespace mgcompare::avx512 {
namespace {
constexpr const char* kName = "avx-512";
constexpr std::size_t kWidth = 16;
constexpr int kPixels = 4;
constexpr int kTerms = 5;
}  // namespace
}  // namespace mgcompare::avx512

#include "cpu/kernels_body.h"
