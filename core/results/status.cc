#include "results/status.h"

#include <fmt/core.h>

#include <array>
#include <cstddef>

#include "mgcompare/error.h"

namespace mgcompare {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 10> kStatuses = {"done",    "diverged",      "failed",      "crashed",    "timeout",
                                                       "out of memory", "device lost", "unavailable", "interrupted", "damaged"};
constexpr std::array<std::string_view, 3> kStates = {"pending", "running", "finished"};
constexpr std::array<std::string_view, 7> kPhases = {"",           "setup",      "warm-up", "training",
                                                   "evaluation", "checkpoint", "teardown"};

static_assert(kStatuses.size() == static_cast<std::size_t>(TrialStatus::damaged) + 1);
static_assert(kStates.size() == static_cast<std::size_t>(RowState::finished) + 1);
static_assert(kPhases.size() == static_cast<std::size_t>(TrialPhase::teardown) + 1);

template <class Enum, std::size_t size>
Enum value_of(std::string_view name, const std::array<std::string_view, size>& names, const char* what) {
  for (std::size_t i = 0; i < size; ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  throw Error(fmt::format("'{}' is not the name of a {}", name, what));
}

}  // namespace

std::string_view to_string(TrialStatus status) { return kStatuses.at(static_cast<std::size_t>(status)); }
std::string_view to_string(RowState state) { return kStates.at(static_cast<std::size_t>(state)); }
std::string_view to_string(TrialPhase phase) { return kPhases.at(static_cast<std::size_t>(phase)); }

TrialStatus trial_status_of(std::string_view name) { return value_of<TrialStatus>(name, kStatuses, "trial status"); }
RowState row_state_of(std::string_view name) { return value_of<RowState>(name, kStates, "row state"); }
TrialPhase trial_phase_of(std::string_view name) { return value_of<TrialPhase>(name, kPhases, "training phase"); }

}  // namespace mgcompare
