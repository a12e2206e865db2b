#include "reports/device_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "reports/findings.h"
#include "reports/infrastructure.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

// A baseline on one device.
struct Device {
  const Comparison* part;
  const Cell* cell;
  std::string name;                 // of the model: "NVIDIA H200"; empty: not recorded
};

// One device against the slowest one that trained the same.
struct Against {
  Device fast, slow;
};

std::string device_name(const Run& run, DeviceKind kind) {
  const char* const key = kind == DeviceKind::cpu ? "cpu" : "cuda:0";
  const auto found = std::find_if(run.info.environment.begin(), run.info.environment.end(), [&](const auto& fact) { return fact.first == key; });
  return found == run.info.environment.end() ? "" : plain(found->second);
}

// "one GPU (NVIDIA H200)"
std::string text_of(const Device& device) {
  const std::string kind = device.cell->trial().device_kind == DeviceKind::cpu ? "one CPU core" : "one GPU";
  return device.name.empty() ? kind : fmt::format("{} ({})", kind, device.name);
}

bool is_same_device(const Device& one, const Device& other) {
  return one.cell->trial().device_kind == other.cell->trial().device_kind && one.name == other.name;
}

bool have_equal_targets(const Against& one) {
  const Comparison &fast = *one.fast.part, &slow = *one.slow.part;
  return fast.target_accuracy == slow.target_accuracy && fast.run->info.data_fingerprint == slow.run->info.data_fingerprint;
}

// By network, variant and batch.
std::map<std::tuple<std::string, std::string, std::size_t>, std::vector<Against>> all_pairs(const Overview& overview) {
  std::map<std::tuple<std::string, std::string, std::size_t>, std::vector<Device>> places;
  for (const Comparison& part : overview.parts) {
    for (const Cell& cell : part.cells) {
      const TrialKey& trial = cell.trial();
      if (!cell.is_baseline || cell.done.empty() || trial.devices != 1 || trial.ranks_per_device != 1 || cell.is_disqualified() ||
          cell.is_marked(MarkKind::too_short))
        continue;
      std::vector<Device>& devices = places[{network_of(part), trial.variant, trial.global_batch}];
      const Device device{&part, &cell, device_name(*part.run, trial.device_kind)};
      // Of several runs on equal devices, the first.
      if (std::none_of(devices.begin(), devices.end(), [&](const Device& other) { return is_same_device(device, other); })) devices.push_back(device);
    }
  }
  std::map<std::tuple<std::string, std::string, std::size_t>, std::vector<Against>> all;
  for (auto& [place, devices] : places) {
    std::stable_sort(devices.begin(), devices.end(), [](const Device& a, const Device& b) {
      return a.cell->samples_per_second.median < b.cell->samples_per_second.median;
    });
    for (std::size_t fast = 1; fast < devices.size(); ++fast) all[place].push_back({devices[fast], devices.front()});
  }
  return all;
}

}  // namespace

Table device_table(const Overview& overview) {
  Table table{"Kinds of devices",
              "One device of each kind against the slowest one, by the one-device baseline at the same batch: samples/s, and the time to the "
              "target, by seed.",
              {"network", "batch", "device", "compared with", "samples/s", "times the samples/s", "times as fast to the target", "accuracy",
               "accuracy of the other"},
              4,
              {},
              {}};
  for (const auto& [place, pairs] : all_pairs(overview)) {
    const auto& [network, variant, batch] = place;
    for (const Against& one : pairs) {
      const Cell &fast = *one.fast.cell, &slow = *one.slow.cell;
      table.lines.push_back({variant.empty() ? network : fmt::format("{} ({})", network, variant), fmt::format("{}", batch), text_of(one.fast),
                             text_of(one.slow), in_two(with_range(fast.samples_per_second, rate_text)),
                             in_two(with_range(ratio(fast.done, slow.done, throughput))),
                             have_equal_targets(one) ? in_two(with_range(ratio(slow.done, fast.done, time_to_target))) : "-", accuracy_text(fast.accuracy.median),
                             accuracy_text(slow.accuracy.median)});
    }
  }
  const bool is_one_network = std::all_of(table.lines.begin(), table.lines.end(), [&](const TextRow& line) { return line[0] == table.lines[0][0]; });
  if (is_one_network && !overview.has_networks()) {
    table.head.erase(table.head.begin());
    for (TextRow& line : table.lines) line.erase(line.begin());
    --table.left;
  }
  return table;
}

std::vector<std::string> device_sentences(const Overview& overview) {
  // By network and device; a larger batch comes later and replaces a smaller one.
  std::map<std::pair<std::string, std::string>, std::string> all;
  for (const auto& [place, pairs] : all_pairs(overview)) {
    const auto& [network, variant, batch] = place;
    if (!variant.empty()) continue;
    for (const Against& one : pairs)
      all[{network, text_of(one.fast)}] =
          fmt::format("{} is {} times {}{}, batch {}, by samples/s of the baseline", text_of(one.fast),
                      with_range(ratio(one.fast.cell->done, one.slow.cell->done, throughput)), text_of(one.slow),
                      overview.has_networks() ? fmt::format(" on {}", plain(network)) : "", batch);
  }
  std::vector<std::string> sentences;
  for (auto& [key, sentence] : all) {
    sentence.front() = 'O';
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace mgcompare
