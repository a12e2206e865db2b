#include "reports/drift.h"

#include <algorithm>
#include <cmath>

namespace mgcompare {
namespace {

constexpr double kSteady = 0.03;

}  // namespace

std::vector<Drift> drifts(const Comparison& comparison) {
  std::vector<Drift> all;
  for (const Cell& cell : comparison.cells) {
    if (!cell.is_baseline || cell.trial().devices != 1 || cell.done.size() < 2) continue;
    std::vector<const Row*> rows = cell.done;
    std::sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) { return a->sequence < b->sequence; });
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const double change = (throughput(*rows[i]) - throughput(*rows[i - 1])) / cell.samples_per_second.median;
      if (std::abs(change) > kSteady) all.push_back({rows[i - 1], rows[i], change});
    }
  }
  std::sort(all.begin(), all.end(), [](const Drift& a, const Drift& b) { return a.before->sequence < b.before->sequence; });
  return all;
}

}  // namespace mgcompare
