#include "reports/oversubscription.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "results/continuation.h"

namespace mgcompare {
namespace {

constexpr double kIdleLoad = 0.25;

// The number at the beginning of a fact of the environment; 0 if there is none.
double number_in(const Run& run, std::string_view key) {
  for (const auto& [name, value] : run.info.environment)
    if (name == key) return std::strtod(value.c_str(), nullptr);
  return 0;
}

}  // namespace

std::optional<Oversubscription> oversubscription(const Run& run, const Cell& cell) {
  const Oversubscription found{static_cast<double>(cell.trial().ranks()), number_in(run, "cpu cores"), number_in(run, kLoadBefore)};
  const bool is_over = cell.trial().device_kind == DeviceKind::cpu && found.cores > 0 &&
                       found.threads + std::max(0.0, found.load - kIdleLoad) > found.cores;
  return is_over ? std::optional(found) : std::nullopt;
}

}  // namespace mgcompare
