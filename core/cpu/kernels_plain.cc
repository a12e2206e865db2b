#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cpu/kernels.h"
#include "cpu/kernels_sets.h"

#define MGCOMPARE_KERNELS plain

namespace mgcompare::plain {
namespace {
constexpr const char* kName = "plain";
constexpr std::size_t kWidth = 4;
constexpr int kPixels = 2;
constexpr int kTerms = 2;
}  // namespace
}  // namespace mgcompare::plain

#include "cpu/kernels_body.h"
