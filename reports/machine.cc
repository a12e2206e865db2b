#include "reports/machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/findings.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

std::string between(const std::vector<double>& values, double unit, const char* name) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return fmt::format("{:.3g} .. {:.3g} {}", *least / unit, *most / unit, name);
}

template <class T>
std::vector<double> figures(const std::vector<T>& all, double T::*figure) {
  std::vector<double> values;
  for (const T& each : all) values.push_back(each.*figure);
  return values;
}

}  // namespace

std::string placement_section(const Comparison& comparison) {
  std::string text;
  for (const Cell& cell : comparison.cells) {
    if (cell.done.empty()) continue;
    for (const std::string& line : placement_lines(cell.done.front()->result.placement))
      text += fmt::format("- {}: {}\n", markdown(title_of(cell)), markdown(line));
  }
  if (text.empty()) return "";
  return "\n## Placement\n\nWhere the ranks were, what they kept where, and what each sent in a step, from the calls "
         "that "
         "the strategies made.\n\n" +
         text;
}

std::string links_section(const Run& run) {
  std::string text;
  for (const Links& links : run.info.links) {
    if (links.devices.empty()) continue;
    const auto kind = markdown(links.kind);
    text += fmt::format("- Host to {} devices: {}; back: {}.\n", kind,
                        between(figures(links.devices, &DeviceFigures::bytes_per_second_to_device), 1e9, "GB/s"),
                        between(figures(links.devices, &DeviceFigures::bytes_per_second_to_host), 1e9, "GB/s"));
    if (!links.pairs.empty()) {
      const auto direct =
          std::count_if(links.pairs.begin(), links.pairs.end(), [](const PairLink& pair) { return pair.direct; });
      text += fmt::format("- {} ordered pairs of {} devices, {} of them peer-to-peer: {}, a small copy {}.\n",
                          links.pairs.size(), kind, direct,
                          between(figures(links.pairs, &PairLink::bytes_per_second), 1e9, "GB/s"),
                          between(figures(links.pairs, &PairLink::seconds_small), 1e-6, "us"));
    }
    std::string sums;
    for (const AllReduceTime& time : links.all_reduces)
      sums += fmt::format("{}{} devices {}: {:.3g} us", sums.empty() ? "" : ", ", time.devices,
                          bytes_text(static_cast<double>(time.bytes)), time.seconds * 1e6);
    if (!sums.empty()) text += fmt::format("- All-reduce of {} devices: {}.\n", kind, markdown(sums));
  }
  for (const std::string& taint : run.info.taints) text += fmt::format("- **Tainted**: {}.\n", markdown(taint));
  if (text.empty()) return "";
  return "\n## Links\n\nMeasured before the first trial, briefly; every copy was compared with what was sent.\n\n" +
         text;
}

}  // namespace mgcompare
