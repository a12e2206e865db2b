#pragma once

// Included by drift.h.

#include <algorithm>
#include <cmath>
#include <vector>

namespace mgcompare {
namespace detail {

inline constexpr std::size_t kDriftPieces = 1024;

struct Squares {
  double gap = 0, size = 0;
  MGCOMPARE_FUNCTION Squares& operator+=(const Squares& other) {
    gap += other.gap;
    size += other.size;
    return *this;
  }
};

// Since the last report.
struct DriftTotal {
  double drift = 0, values = 0;
};

}  // namespace detail

inline Drift::Drift(Device& device, std::size_t size)
    : pieces_(device, std::min<std::size_t>(size, detail::kDriftPieces)), squares_(device, pieces_.size()), total_(device, 1) {
  std::vector<Segment> pieces;
  for (std::size_t k = 0; k < pieces_.size(); ++k) {
    const Range range = share(size, k, pieces_.size());
    pieces.push_back({static_cast<std::uint32_t>(range.begin), static_cast<std::uint32_t>(range.size()), 1});
  }
  copy_to_device(device, pieces_.span(), Span<const Segment>(pieces.data(), pieces.size()));
  device.synchronize();
}

inline void Drift::add(Device& device, ConstVec own, ConstVec common) {
  const float* const a = own.data();
  const float* const b = common.data();
  segmented_reduce(device, Span<const Segment>(pieces_.span()), squares_.span(), [=] MGCOMPARE_FUNCTION(std::size_t i) {
    const double gap = static_cast<double>(a[i]) - static_cast<double>(b[i]), size = static_cast<double>(b[i]);
    return detail::Squares{gap * gap, size * size};
  });
  const Span<detail::Squares> squares = squares_.span();
  detail::DriftTotal* const total = total_.data();
  for_each(device, 1, [=] MGCOMPARE_FUNCTION(std::size_t) {
    detail::Squares sum;
    for (const detail::Squares& each : squares) sum += each;
    total->drift += sum.size > 0 ? std::sqrt(sum.gap / sum.size) : 0;
    total->values += 1;
  });
}

inline void Drift::report(Replica& replica) {
  detail::DriftTotal total;
  copy_to_host(replica.device(), Span<detail::DriftTotal>(&total, 1), total_.span());
  replica.device().zero(total_.data(), sizeof(total));
  replica.device().synchronize();
  if (total.values > 0) replica.metric("drift", total.drift / total.values);
}

}  // namespace mgcompare
