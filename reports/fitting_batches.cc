#include "reports/fitting_batches.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/problem.h"
#include "reports/findings.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

bool ran_out_of_memory(const Cell& cell) {
  return std::any_of(cell.failed.begin(), cell.failed.end(),
                     [](const Row* row) { return row->result.status == TrialStatus::out_of_memory; });
}

bool differ_in_batch_only(const Cell& a, const Cell& b) {
  const TrialKey &one = a.trial(), &other = b.trial();
  return one.strategy.label == other.strategy.label && one.variant == other.variant && one.device_kind == other.device_kind && one.devices == other.devices &&
         one.hosts == other.hosts && one.ids == other.ids && one.ranks_per_device == other.ranks_per_device && one.scaling == other.scaling;
}

// That a search after the failure found, as a global batch; 0: none.
std::size_t found_to_fit(const Cell& cell) {
  std::size_t batch = 0;
  for (const Row* row : cell.failed) batch = std::max<std::size_t>(batch, row->result.fitting_batch);
  return cell.trial().scaling == ScalingMode::weak ? batch * cell.trial().devices : batch;
}

std::string batch_text(const Cell& cell) { return count_text(static_cast<double>(cell.trial().global_batch)); }

}  // namespace

std::vector<std::string> fitting_batches(const Comparison& comparison) {
  constexpr std::size_t kNamed = 3;
  struct Statement {
    std::vector<std::string> rows;
    std::string text;
  };
  std::vector<Statement> statements;
  for (const Cell& cell : comparison.cells) {
    if (!ran_out_of_memory(cell)) continue;
    const Cell* largest = nullptr;
    const std::size_t found = found_to_fit(cell);
    bool is_smallest = true;
    for (const Cell& other : comparison.cells) {
      if (!differ_in_batch_only(cell, other)) continue;
      if (ran_out_of_memory(other)) is_smallest &= cell.trial().global_batch <= other.trial().global_batch;
      else if (!other.done.empty() && (largest == nullptr || other.trial().global_batch > largest->trial().global_batch)) largest = &other;
    }
    if (!is_smallest) continue;
    const std::size_t known = largest == nullptr ? 0 : largest->trial().global_batch;
    const std::string text = fmt::format("ran out of memory with a global batch of {}{}; {}", batch_text(cell), cell.done.empty() ? "" : " in some repeats",
                                         found > known        ? fmt::format("the largest known to fit is {}", count_text(static_cast<double>(found)))
                                         : largest != nullptr ? "the largest that fitted is " + batch_text(*largest)
                                                              : "no batch of this experiment fitted");
    auto same = std::find_if(statements.begin(), statements.end(), [&](const Statement& one) { return one.text == text; });
    if (same == statements.end()) same = statements.insert(statements.end(), {{}, text});
    same->rows.push_back(fmt::format("{} on {}", plain(cell.series), devices_text(cell.trial().devices, cell.trial().device_kind)));
  }
  std::vector<std::string> sentences;
  for (const Statement& one : statements) sentences.push_back(fmt::format("{} {}", listed(one.rows, kNamed), one.text));
  return sentences;
}

}  // namespace mgcompare
