#include "roll.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "examination.h"

namespace mgcompare {
namespace {

// How a trial ends when its device goes away under it; also when its strategy is at fault.
constexpr std::array kBadEnds = {"failed", "crashed", "timeout", "device lost"};

}  // namespace

Roll::Roll(const std::vector<PlatformSummary>& platforms) {
  for (const PlatformSummary& platform : platforms)
    for (const DeviceSummary& device : platform.devices) members_[platform.kind].push_back({device.id, ""});
}

std::string Roll::lost(const Trial& trial) const {
  const std::string kind(to_string(trial.device_kind));
  const auto found = members_.find(kind);
  if (found == members_.end()) return "";
  const std::size_t needed = std::min(trial.devices, found->second.size());
  for (std::size_t index = 0; index < needed; ++index) {
    const std::string& silence = found->second[index].silence;
    if (!silence.empty()) return fmt::format("{}:{} does not answer any more: {}", kind, index, silence);
  }
  return "";
}

void Roll::check(Supervisor& supervisor, const Trial& trial, Result& result) {
  if (std::find(kBadEnds.begin(), kBadEnds.end(), result.status) == kBadEnds.end()) return;
  const auto found = members_.find(std::string(to_string(trial.device_kind)));
  if (found == members_.end()) return;
  std::vector<std::string> ids;
  for (const Member& member : found->second) ids.push_back(member.id);
  const std::vector<std::string> silences = call_roll(supervisor, trial.device_kind, ids);
  // The next trial starts clean.
  supervisor.end_worker();
  for (std::size_t index = 0; index < ids.size(); ++index) found->second[index].silence = silences.at(index);
  const std::string cause = lost(trial);
  if (cause.empty()) return;
  result.cause = fmt::format("{}; the trial: {} ({})", cause, result.cause, result.status);
  result.status = "device lost";
}

}  // namespace mgcompare
