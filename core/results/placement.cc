#include "results/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace mgcompare {
namespace {

std::string size_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.3g} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.3g} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.3g} kB", bytes / 1e3);
  return fmt::format("{:.0f} B", bytes);
}

// Without the device number, so that ranks with the same placement have the same text.
std::string text_of(const RankPlacement& place) {
  std::vector<std::string> parts;
  for (const Kept& kept : place.kept)
    parts.push_back(fmt::format("{} ({}{}{}) on {}", kept.what, kept.type, kept.type.empty() ? "" : ", ",
                                size_text(static_cast<double>(kept.bytes)), kept.where == place.device ? "the device" : "the host"));
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  for (const Sent& sent : place.sent)
    text += fmt::format("; {} {} a step over {} ({:.3g} call{})", sent.call, size_text(sent.bytes), sent.over, sent.calls, sent.calls == 1 ? "" : "s");
  if (place.sent.empty()) text += "; sends nothing in a step";
  if (!place.own_kernels.empty()) text += fmt::format("; not computed by the libraries: {}", fmt::join(place.own_kernels, ", "));
  return text;
}

}  // namespace

std::vector<std::string> placement_lines(const std::vector<RankPlacement>& ranks) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string text = text_of(ranks[rank]);
    auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == text; });
    if (same == groups.end()) same = groups.insert(groups.end(), {text, {}});
    same->second.push_back(rank);
  }
  std::vector<std::string> lines;
  for (const auto& [text, members] : groups) {
    std::vector<std::string> names;
    for (const std::size_t rank : members) names.push_back(fmt::format("{} on {}", rank, ranks[rank].device));
    lines.push_back(fmt::format("rank{} {}: {}", members.size() == 1 ? "" : "s", fmt::join(names, ", "), text));
  }
  return lines;
}

}  // namespace mgcompare
