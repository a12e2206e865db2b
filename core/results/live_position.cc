#include "results/live_position.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mgcompare {
namespace {

constexpr unsigned kStepBits = 32, kEpochBits = 24;
// Of a strategy. All ranks make them at the same time, so that no other code can be what crashed.
constexpr auto kCalls = std::to_array<std::string_view>({"start", "settle", "save", "restore"});

constexpr std::uint64_t lowest(std::uint64_t value, unsigned bits) { return value & ((std::uint64_t{1} << bits) - 1); }

std::uint64_t packed(const Position& position) {
  return static_cast<std::uint64_t>(position.phase) << (kEpochBits + kStepBits) | lowest(position.epoch, kEpochBits) << kStepBits |
         lowest(position.step, kStepBits);
}

}  // namespace

std::string text_of(const Position& position) {
  const std::size_t epoch = position.epoch + 1;
  switch (position.phase) {
    case TrialPhase::none: return "before the trial began";
    case TrialPhase::training:
      return position.step == 0 ? fmt::format("in epoch {} (training)", epoch)
                                : fmt::format("in step {} of epoch {} (training)", position.step, epoch);
    case TrialPhase::warm_up:
      return position.step == 0 ? "in warm-up" : fmt::format("in the warm-up, at batch {} of an epoch", position.step);
    case TrialPhase::evaluation:
    case TrialPhase::checkpoint: return fmt::format("in {} of epoch {}", to_string(position.phase), epoch);
    case TrialPhase::setup:
    case TrialPhase::teardown: break;
  }
  return fmt::format("in {}", to_string(position.phase));
}

void LivePosition::set(const Position& position) { packed_.store(packed(position), std::memory_order_relaxed); }

void LivePosition::advance(const Position& position) {
  const std::uint64_t next = packed(position);
  // The batches of a warm-up are in no order.
  const bool may_go_back = position.phase == TrialPhase::warm_up;
  std::uint64_t present = packed_.load(std::memory_order_relaxed);
  while ((present < next || (may_go_back && present != next)) && present >> kStepBits == next >> kStepBits &&
         !packed_.compare_exchange_weak(present, next, std::memory_order_relaxed)) {
  }
}

std::string LivePosition::text() const {
  std::map<std::string, std::vector<std::size_t>> ranks;
  for (std::size_t rank = 0; rank < activities_.size(); ++rank)
    if (const std::string activity = activities_[rank].get(); !activity.empty()) ranks[activity].push_back(rank);
  std::string text = text_of(get());
  for (const auto& [activity, numbers] : ranks)
    text += fmt::format(", rank{} {} in {}{}", numbers.size() == 1 ? "" : "s", fmt::join(numbers, " "), activity,
                        activity.find(' ') == std::string::npos ? "()" : "");
  return text;
}

std::string LivePosition::text_with_call() const {
  std::string text = text_of(get());
  for (const std::string_view call : kCalls)
    if (std::any_of(activities_.begin(), activities_.end(), [&](const Activity& activity) { return activity.get() == call; }))
      text += fmt::format(", in {}()", call);
  return text;
}

Position LivePosition::get() const {
  const std::uint64_t packed = packed_.load(std::memory_order_relaxed);
  const std::uint64_t phase = packed >> (kEpochBits + kStepBits);
  if (phase > static_cast<std::uint64_t>(TrialPhase::teardown)) return {};
  return {static_cast<TrialPhase>(phase), lowest(packed >> kStepBits, kEpochBits), lowest(packed, kStepBits)};
}

}  // namespace mgcompare
