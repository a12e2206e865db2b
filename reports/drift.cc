#include "reports/drift.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/findings.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

constexpr double kSteady = 0.03;

bool is_earlier(const Row* a, const Row* b) { return a->sequence < b->sequence; }

// Runs of the cell in the blocks and outside of them.
std::vector<const Row*> all_runs(const Cell& cell) {
  std::vector<const Row*> rows = cell.done;
  rows.insert(rows.end(), cell.brackets.begin(), cell.brackets.end());
  std::sort(rows.begin(), rows.end(), is_earlier);
  return rows;
}

std::vector<SpeedDrift> drifts_of(const Cell& cell) {
  const std::vector<const Row*> rows = all_runs(cell);
  std::vector<SpeedDrift> found;
  const auto look = [&](std::size_t before, std::size_t after) {
    const double change = throughput(*rows[after]) / throughput(*rows[before]) - 1;
    if (std::abs(change) > kSteady) found.push_back({rows[before], rows[after], change});
  };
  for (std::size_t i = 1; i < rows.size(); ++i) look(i - 1, i);
  if (found.empty() && rows.size() > 2) look(0, rows.size() - 1);
  return found;
}

}  // namespace

std::vector<SpeedDrift> drifts(const Comparison& comparison) {
  std::vector<SpeedDrift> all;
  for (const Cell& cell : comparison.cells) {
    if (!cell.is_baseline || cell.trial().devices != 1) continue;
    const std::vector<SpeedDrift> found = drifts_of(cell);
    all.insert(all.end(), found.begin(), found.end());
  }
  std::sort(all.begin(), all.end(), [](const SpeedDrift& a, const SpeedDrift& b) { return is_earlier(a.before, b.before); });
  return all;
}

const SpeedDrift& largest(const std::vector<SpeedDrift>& drifts) {
  return *std::max_element(drifts.begin(), drifts.end(),
                           [](const SpeedDrift& a, const SpeedDrift& b) { return std::abs(a.change) < std::abs(b.change); });
}

Table drift_table(const Comparison& comparison) {
  Table table{"The baseline over the run",
              "All runs of the one-device baseline in order of execution: bracket runs, which are in no other figure, and runs in the "
              "blocks. A change of more than 3 % between two runs means that the speed of the machine changed.",
              {"row", "where", "started", "sequence", "samples/s", "against the first"},
              3,
              {}, {}};
  for (const Cell& cell : comparison.cells) {
    const bool is_told = cell.is_baseline && cell.trial().devices == 1 && !drifts_of(cell).empty();
    if (cell.brackets.empty() && !is_told) continue;
    const std::vector<const Row*> rows = all_runs(cell);
    for (const Row* row : rows) {
      const TrialKey& trial = row->trial;
      const std::string where = trial.bracket > 0 ? fmt::format("bracket {}", trial.bracket) : fmt::format("block {}", trial.block);
      table.lines.push_back({title_of(cell), where, row->started, fmt::format("{}", row->sequence), count_text(throughput(*row)),
                             fmt::format("{:+.1f} %", 100 * (throughput(*row) / throughput(*rows.front()) - 1))});
    }
  }
  return table;
}

}  // namespace mgcompare
