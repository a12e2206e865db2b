#pragma once

// The A/A check: exact rows on one device that send nothing do what the baseline does under another name. How far they are from it is
// what the machine alone makes of equal work.

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "reports/figure.h"

namespace mgcompare {

// More than the usual noise of a quiet machine, as a departure (figure.h).
inline constexpr double kFarCopy = 0.1;

struct Copies {
  std::size_t count = 0;
  double least = 0, most = 0;       // of the factors
  const Cell* farthest = nullptr;
  Spread factor;                    // of the farthest row against its baseline

  double departure() const { return departure_of(factor); }
  double off_by() const { return std::exp(departure()); }  // "off by a factor of 2.7"
};

// Those among the copies whose factor has at least so many repeats; none if there are none.
std::optional<Copies> copies_of(const std::vector<Cell>& cells, const Figure& figure, std::size_t least_repeats = 1,
                                const std::function<bool(const Cell&)>& is_wanted = {});
// Those that can cast doubt on the order of two rows: of the baseline of either, with repeats enough to decide. If the interval of one of
// them includes 1, or its median is within the noise of 1, then only such ones.
std::optional<Copies> copies_beside(const std::vector<Cell>& cells, const Figure& figure, const Cell& one, const Cell& other);

}  // namespace mgcompare
