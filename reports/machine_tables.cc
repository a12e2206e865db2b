#include "reports/machine_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/findings.h"
#include "reports/framework.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

std::string between(const std::vector<double>& values, double unit, const char* name) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return fmt::format("{:.3g} .. {:.3g} {}", *least / unit, *most / unit, name);
}

// Of copies: within a host's memory small ones take nanoseconds.
std::string times_between(const std::vector<double>& seconds) {
  const bool is_short = *std::max_element(seconds.begin(), seconds.end()) < 1e-6;
  return is_short ? between(seconds, 1e-9, "ns") : between(seconds, 1e-6, "us");
}

template <class T>
std::vector<double> figures(const std::vector<T>& all, double T::*figure) {
  std::vector<double> values;
  for (const T& each : all) values.push_back(each.*figure);
  return values;
}

}  // namespace

Table placement_table(const Comparison& comparison) {
  Table table{"Placement",
              "Where the ranks ran, what they stored where, and what each sent per step, recorded from the calls of the strategies.",
              {"strategy", "placement"},
              2,
              {},
              {}};
  for (const Cell& cell : comparison.cells) {
    if (cell.done.empty()) continue;
    for (const std::string& line : placement_lines(cell.done.front()->result.placement))
      table.lines.push_back({title_of(cell), line});
    for (const Kept& object : cell.done.front()->result.shared)
      table.lines.push_back({title_of(cell), fmt::format("all ranks share {} ({}) on the host", plain(object.what),
                                                         bytes_text(static_cast<double>(object.bytes)))});
  }
  return table;
}

Table links_table(const Run& run) {
  Table table{"Links", "A short measurement before the first trial; every copy was compared with its source.", {"link", "found"}, 2, {}, {}};
  for (const std::string& taint : run.info.taints) table.lines.push_back({"tainted", taint});
  for (const LinkMeasurements& links : run.info.links) {
    if (links.devices.empty()) continue;
    table.lines.push_back({"host to " + links.kind + " devices",
                           between(figures(links.devices, &DeviceFigures::bytes_per_second_to_device), 1e9, "GB/s")});
    table.lines.push_back({links.kind + " devices to host",
                           between(figures(links.devices, &DeviceFigures::bytes_per_second_to_host), 1e9, "GB/s")});
    if (!links.pairs.empty()) {
      const auto direct =
          std::count_if(links.pairs.begin(), links.pairs.end(), [](const PairLink& pair) { return pair.direct; });
      table.lines.push_back({fmt::format("{} ordered pairs of {} devices", links.pairs.size(), links.kind),
                             fmt::format("{} peer-to-peer; {}, a small copy {}", direct,
                                         between(figures(links.pairs, &PairLink::bytes_per_second), 1e9, "GB/s"),
                                         times_between(figures(links.pairs, &PairLink::seconds_small)))});
    }
    for (const AllReduceTime& time : links.all_reduces)
      table.lines.push_back({fmt::format("all-reduce of {} {} devices", time.devices, links.kind),
                             fmt::format("{}: {}", bytes_text(static_cast<double>(time.bytes)), seconds_text(time.seconds))});
  }
  return table;
}

Table environment_table(const Run& run) {
  Table table{"Environment", "", {"fact", "value"}, 2, {}, {}};
  const auto& facts = run.info.environment;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    // One line for consecutive equal devices.
    std::size_t last = i;
    const auto is_device = [&](std::size_t k) { return facts[k].first.find(':') != std::string::npos; };
    while (is_device(i) && last + 1 < facts.size() && is_device(last + 1) && facts[last + 1].second == facts[i].second) ++last;
    table.lines.push_back({last == i ? facts[i].first : facts[i].first + " .. " + facts[last].first, facts[i].second});
    i = last;
  }
  for (const Framework& framework : frameworks_of(run)) table.lines.push_back({framework.name, versions_text(framework)});
  return table;
}

}  // namespace mgcompare
