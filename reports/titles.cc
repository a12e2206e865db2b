#include "reports/titles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/listed_batch.h"
#include "reports/text.h"

namespace mgcompare {

std::string factor_text(double factor) { return fmt::format("{:.2f}", factor); }

std::string devices_text(std::size_t count, DeviceKind kind) {
  return fmt::format("{} {}{}", count, kind == DeviceKind::cpu ? "CPU core" : "GPU", count == 1 ? "" : "s");
}

std::string title_of(const Cell& cell) {
  const TrialKey& trial = cell.trial();
  std::string title = fmt::format("{} on {}", trial.strategy.label, devices_text(trial.devices, trial.device_kind));
  if (!trial.ids.empty()) title += fmt::format(" ({})", fmt::join(trial.ids, ", "));
  if (trial.hosts > 1) title += fmt::format(" of {} hosts", trial.hosts);
  if (trial.ranks_per_device != 1) title += fmt::format(" with {} ranks each", trial.ranks_per_device);
  title += fmt::format(", batch {}", listed_batch(trial));
  if (trial.scaling == ScalingMode::weak) title += " per device";
  if (!trial.variant.empty()) title += fmt::format(", {}", trial.variant);
  return plain(cell.network.empty() ? title : fmt::format("{}: {}", cell.network, title));
}

std::string titles_of(const std::vector<const Cell*>& cells) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> titles;
  for (std::size_t k = 0; k < std::min(kNamed, cells.size()); ++k) titles.push_back(title_of(*cells[k]));
  const std::size_t more = cells.size() - titles.size();
  return fmt::format("{}{}", fmt::join(titles, "; "), more == 0 ? "" : fmt::format(" and {} more row{}", more, more == 1 ? "" : "s"));
}

std::string with_range(const Spread& spread, std::string (*text)(double)) {
  if (spread.count == 0) return "-";
  if (spread.count == 1) return text(spread.median);
  return fmt::format("{} [{} .. {}]", text(spread.median), text(spread.low), text(spread.high));
}

std::string with_range(const Spread& spread) { return with_range(spread, factor_text); }

std::string accuracy_of(const Cell& cell) {
  const std::string text = with_range(cell.accuracy, accuracy_text);
  return cell.many_models && cell.accuracy.count > 0
             ? fmt::format("{}, mean of {} models", text, cell.trial().ranks())
             : text;
}

}  // namespace mgcompare
