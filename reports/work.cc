#include "reports/work.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace mgcompare {

double own_seconds(const Cell& cell) {
  const Breakdown& parts = cell.breakdown;
  return parts.step - parts.exchange - parts.waiting;
}

double computing_seconds(const Cell& cell) { return cell.breakdown.compute + cell.breakdown.input; }

double other_seconds(const Cell& cell) { return cell.breakdown.sum() - computing_seconds(cell); }

double samples_per_device(const Cell& cell) {
  return static_cast<double>(cell.trial().global_batch) / static_cast<double>(std::max<std::size_t>(1, cell.trial().devices));
}

std::optional<StepTime> fit_work(const std::vector<const Cell*>& cells, double (*seconds)(const Cell&)) {
  // Relative errors, so that short steps have the same weight as long ones: minimises sum ((f + p b) / t - 1)^2.
  double ff = 0, fb = 0, bb = 0, f1 = 0, b1 = 0;
  std::set<double> sizes;
  std::size_t rows = 0;
  for (const Cell* cell : cells) {
    const double t = seconds(*cell), b = samples_per_device(*cell);
    if (!cell->breakdown.reliable() || !(t > 0)) continue;
    sizes.insert(b);
    ++rows;
    ff += 1 / (t * t), fb += b / (t * t), bb += b * b / (t * t), f1 += 1 / t, b1 += b / t;
  }
  if (sizes.size() < 2) return std::nullopt;
  const double determinant = ff * bb - fb * fb;
  StepTime work{(f1 * bb - b1 * fb) / determinant, (b1 * ff - f1 * fb) / determinant};
  if (work.fixed < 0) work = {0, b1 / bb};
  if (!(work.per_sample > 0) || !std::isfinite(work.fixed)) return std::nullopt;
  work.sizes = sizes.size(), work.rows = rows, work.least = *sizes.begin();
  for (const Cell* cell : cells) {
    const double t = seconds(*cell);
    if (!cell->breakdown.reliable() || !(t > 0)) continue;
    work.error = std::max(work.error, std::abs(work.seconds(samples_per_device(*cell)) / t - 1));
  }
  return work;
}

std::optional<double> break_even_batch(const StepTime& work, double cost, std::size_t devices) {
  if (devices < 2 || !(work.per_sample > 0)) return std::nullopt;
  const auto n = static_cast<double>(devices);
  // fixed + p B / n + cost < fixed + p B
  return cost * n / (work.per_sample * (n - 1));
}

}  // namespace mgcompare
