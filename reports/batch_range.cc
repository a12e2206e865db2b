#include "reports/batch_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "config/problem.h"
#include "plan/listed_batch.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

// Whether several devices are faster, by batch of the config: per device in weak scaling. Undecided only if a median shows a gain.
std::map<std::size_t, Order> order_by_batch(const Comparison& comparison) {
  std::map<std::size_t, Order> orders;
  for (const Cell& cell : comparison.cells) {
    const TrialKey& trial = cell.trial();
    if (!cell.is_own || cell.done.empty() || trial.devices < 2 || cell.many_models || cell.is_ceiling || cell.is_disqualified() || !cell.baseline) continue;
    const std::size_t batch = listed_batch(trial);
    const bool is_open = cell.order == Order::undecided && cell.speed_up.median > 1 + kNoiseFloor;
    Order& order = orders.try_emplace(batch, Order::below).first->second;
    if (cell.order == Order::above) order = Order::above;
    else if (is_open && order == Order::below) order = Order::undecided;
  }
  return orders;
}

std::string batches_text(const std::vector<std::size_t>& batches) {
  std::vector<std::string> texts;
  for (const std::size_t batch : batches) texts.push_back(count_text(static_cast<double>(batch)));
  return listed(texts);
}

}  // namespace

std::string batch_range_text(const Comparison& comparison) {
  const std::map<std::size_t, Order> orders = order_by_batch(comparison);
  std::vector<std::size_t> all, yes, no;
  for (const auto& [batch, order] : orders) {
    if (order == Order::undecided) return "";
    all.push_back(batch);
    (order == Order::above ? yes : no).push_back(batch);
  }
  if (all.size() < 2) return "";
  if (yes.empty()) return fmt::format("By samples/s, several devices are faster than one at none of the batches {}", batches_text(all));
  if (no.empty()) return fmt::format("By samples/s, several devices are faster than one at all batches: {}", batches_text(all));
  if (yes.front() > no.back()) return fmt::format("By samples/s, several devices are faster than one from batch {} on, of the batches {}", count_text(static_cast<double>(yes.front())), batches_text(all));
  return fmt::format("By samples/s, several devices are faster than one at batch {}, but not at {}", batches_text(yes), batches_text(no));
}

}  // namespace mgcompare
