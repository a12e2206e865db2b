#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cpu/kernels.h"
#include "cpu/kernels_sets.h"

#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#endif

#define MGCOMPARE_KERNELS avx2

namespace mgcompare::avx2 {
namespace {
constexpr const char* kName = "avx2";
constexpr std::size_t kWidth = 8;
constexpr int kPixels = 2;
constexpr int kTerms = 2;
}  // namespace
}  // namespace mgcompare::avx2

#include "cpu/kernels_body.h"
