#include "services/device_availability.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "services/doctor_service.h"

namespace mgcompare {
namespace {

// How a trial may end if its device fails. A faulty strategy may end in the same way.
constexpr std::array kBadEnds = {TrialStatus::failed, TrialStatus::crashed, TrialStatus::timeout, TrialStatus::device_lost};
// Time limit for a device to answer: longer than a driver needs to start.
constexpr double kAnswerSeconds = 30;

constexpr char kSilent[] = "no longer answers", kAreSilent[] = "no longer answer";

}  // namespace

DeviceAvailability::DeviceAvailability(const std::vector<PlatformSummary>& platforms) {
  for (const PlatformSummary& platform : platforms)
    for (const DeviceSummary& device : platform.devices)
      members_[platform.kind].push_back(
          {fmt::format("{}:{}", platform.kind, device.index), device.id, device.index, ""});
}

const DeviceAvailability::Members& DeviceAvailability::members_of(const Trial& trial) const {
  static const Members none;
  const auto found = members_.find(std::string(to_string(trial.device_kind)));
  return found == members_.end() ? none : found->second;
}

std::vector<std::size_t> DeviceAvailability::chosen(const Members& members, const Trial& trial) {
  std::vector<std::size_t> first;
  if (!trial.ids.empty()) {
    for (const int id : trial.ids)
      if (const auto at = static_cast<std::size_t>(id); at < members.size() && members[at].silence.empty()) first.push_back(at);
    return first;
  }
  for (std::size_t at = 0; at < members.size() && first.size() < trial.devices_used(); ++at)
    if (members[at].silence.empty()) first.push_back(at);
  return first;
}

std::string DeviceAvailability::lost(const Trial& trial) const {
  const Members& members = members_of(trial);
  const std::size_t answering = chosen(members, trial).size();
  if (answering >= std::min(trial.devices_used(), members.size())) return "";
  const auto silent = std::find_if(members.begin(), members.end(), [&](const Member& m) {
    const bool is_asked = trial.ids.empty() || std::find(trial.ids.begin(), trial.ids.end(), static_cast<int>(&m - members.data())) != trial.ids.end();
    return is_asked && !m.silence.empty();
  });
  if (silent == members.end()) return "";
  return fmt::format("{} {}: {}; the trial needs {} devices, {} available", silent->name, kSilent,
                     silent->silence, trial.devices_used(), answering);
}

Trial DeviceAvailability::placed(const Trial& trial) const {
  Trial placed = trial;
  const Members& members = members_of(trial);
  for (const std::size_t at : chosen(members, trial)) placed.indices.push_back(members[at].index);
  return placed;
}

std::string DeviceAvailability::note(const Trial& trial) const {
  const Members& members = members_of(trial);
  std::vector<std::string> used, silent;
  std::size_t last = 0;
  for (const std::size_t at : chosen(members, trial))
    used.push_back(fmt::format("{} ({})", members[at].name, members[at].id)), last = at;
  for (std::size_t at = 0; at < last; ++at)
    if (!members[at].silence.empty()) silent.push_back(members[at].name);
  if (silent.empty() || !trial.ids.empty()) return "";
  return fmt::format("ran on {}, because {} {}", fmt::join(used, ", "), fmt::join(silent, ", "),
                     silent.size() == 1 ? kSilent : kAreSilent);
}

std::string DeviceAvailability::check(Supervisor& supervisor, const Trial& trial, Result& result) {
  if (std::find(kBadEnds.begin(), kBadEnds.end(), result.status) == kBadEnds.end()) return "";
  const auto found = members_.find(std::string(to_string(trial.device_kind)));
  if (found == members_.end()) return "";
  Members& members = found->second;
  const std::vector<std::size_t> used = chosen(members, trial);
  std::vector<std::string> ids;
  for (const Member& member : members) ids.push_back(member.id);
  const auto answers = check_devices(supervisor, trial.device_kind, ids, kAnswerSeconds);
  // The next trial starts in a new worker.
  supervisor.end_worker();
  if (!answers) return "";
  std::vector<std::string> fallen;
  for (std::size_t at = 0; at < members.size(); ++at) {
    const DeviceStatus& answer = answers->at(at);
    if (members[at].silence.empty() && !answer.silence.empty())
      fallen.push_back(fmt::format("{} {}: {}", members[at].name, kSilent, answer.silence));
    members[at].index = answer.index;
    members[at].silence = answer.silence;
  }
  const auto is_lost = [&](std::size_t at) { return !members[at].silence.empty(); };
  if (const auto own = std::find_if(used.begin(), used.end(), is_lost); own != used.end()) {
    const Member& member = members[*own];
    result.cause = fmt::format("{} {}: {}; the trial: {} ({})", member.name, kSilent, member.silence, result.cause,
                               to_string(result.status));
    result.status = TrialStatus::device_lost;
  }
  if (fallen.empty()) return "";
  const auto left = std::count_if(members.begin(), members.end(), [](const Member& m) { return m.silence.empty(); });
  return fmt::format("{}; the remaining trials run on the other devices ({} of {}), and trials that need more are not run",
                     fmt::join(fallen, "; "), left, members.size());
}

}  // namespace mgcompare
