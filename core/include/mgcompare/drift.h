#pragma once

// How far a rank's copy has drifted from what the ranks agree on: |own - common| / |common| at each agreement. Gathered
// on the device, so that steps which the device repeats by itself count too.

#include <algorithm>
#include <cmath>
#include <vector>

#include "mgcompare/arithmetic.h"
#include "mgcompare/replica.h"

namespace mgcompare {

namespace detail {
struct Squares {
  double gap = 0, size = 0;
  MGCOMPARE_FUNCTION Squares& operator+=(const Squares& other) {
    gap += other.gap;
    size += other.size;
    return *this;
  }
};
// Of all agreements since the last report.
struct DriftTotal {
  double drift = 0, agreements = 0;
};
}  // namespace detail

class Drift {
 public:
  Drift() = default;
  Drift(Device& device, std::size_t size)
      : pieces_(device, std::min<std::size_t>(size, kPieces)), squares_(device, pieces_.size()), total_(device, 1) {
    std::vector<Segment> pieces;
    for (std::size_t k = 0; k < pieces_.size(); ++k) {
      const Range range = share(size, k, pieces_.size());
      pieces.push_back({static_cast<std::uint32_t>(range.begin), static_cast<std::uint32_t>(range.size()), 1});
    }
    copy_to_device(device, pieces_.span(), Span<const Segment>(pieces.data(), pieces.size()));
    device.synchronize();
  }

  // At an agreement; stream-ordered.
  void add(Device& device, ConstVec own, ConstVec common) {
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
      total->agreements += 1;
    });
  }

  // At the end of an epoch: the mean since the last report becomes the metric "drift". Waits for the device.
  void report(Replica& replica) {
    detail::DriftTotal total;
    copy_to_host(replica.device(), Span<detail::DriftTotal>(&total, 1), total_.span());
    replica.device().zero(total_.data(), sizeof(total));
    replica.device().synchronize();
    if (total.agreements > 0) replica.metric("drift", total.drift / total.agreements);
  }

 private:
  static constexpr std::size_t kPieces = 1024;

  Array<Segment> pieces_;
  Array<detail::Squares> squares_;
  Array<detail::DriftTotal> total_;
};

}  // namespace mgcompare
