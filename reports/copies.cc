#include "reports/copies.h"

#include <algorithm>
#include <cmath>

namespace mgcompare {

std::optional<Copies> copies_of(const std::vector<Cell>& cells, const Figure& figure, std::size_t least_repeats,
                                const std::function<bool(const Cell&)>& is_wanted) {
  Copies copies;
  for (const Cell& cell : cells) {
    if (!cell.copies_baseline || cell.bytes_per_step.most > 0 || cell.is_disqualified() || (is_wanted && !is_wanted(cell))) continue;
    const Spread factor = figure.factor(cell, cells[*cell.baseline]);
    if (factor.count < least_repeats || !(factor.median > 0)) continue;
    copies.least = copies.count == 0 ? factor.median : std::min(copies.least, factor.median);
    copies.most = std::max(copies.most, factor.median);
    if (copies.count == 0 || departure_of(factor) > copies.departure()) {
      copies.farthest = &cell;
      copies.factor = factor;
    }
    ++copies.count;
  }
  return copies.count == 0 ? std::nullopt : std::optional(copies);
}

std::optional<Copies> copies_beside(const std::vector<Cell>& cells, const Figure& figure, const Cell& one, const Cell& other) {
  const auto is_beside = [&](const Cell& copy) { return copy.baseline == one.own_baseline || copy.baseline == other.own_baseline; };
  const auto agrees = [&](const Cell& copy) {
    const Spread factor = figure.factor(copy, cells[*copy.baseline]);
    return includes_one(factor) || std::abs(factor.median - 1) <= kNoiseFloor;
  };
  // A machine that repeats one copy does not change another in every repeat: what is far then is that strategy's own work.
  const auto agreeing = copies_of(cells, figure, kDecisiveRepeats, [&](const Cell& copy) { return is_beside(copy) && agrees(copy); });
  return agreeing ? agreeing : copies_of(cells, figure, kDecisiveRepeats, is_beside);
}

}  // namespace mgcompare
