#include "runtime/gradient_sums.h"

#include <algorithm>
#include <atomic>
#include <functional>

namespace mgcompare {
namespace {

template <class Values> void add_to(Values& sum, const Values& more) { std::transform(sum.begin(), sum.end(), more.begin(), sum.begin(), std::plus<>()); }

}  // namespace

void GradientSums::add(Device& device, ConstVec gradients, Range range, bool on_host) {
  std::vector<float> copy(range.size());
  if (on_host) {
    std::copy_n(gradients.data() + range.begin, range.size(), copy.begin());
  } else {
    device.copy_to_host(copy.data(), gradients.data() + range.begin, range.size() * sizeof(float));
    device.synchronize();
  }
  for (std::size_t i = 0; i < copy.size(); ++i) {
    const auto value = static_cast<double>(copy[i]);
    sum[range.begin + i] += value;
    squares[range.begin + i] += value * value;
  }
  std::atomic_ref(elements) += range.size();
}

GradientSums& GradientSums::operator+=(const GradientSums& other) {
  add_to(sum, other.sum);
  add_to(squares, other.squares);
  elements += other.elements;
  return *this;
}

}  // namespace mgcompare
