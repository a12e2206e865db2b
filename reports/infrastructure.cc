#include "reports/infrastructure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "config/config_difference.h"
#include "config/problem.h"
#include "reports/framework.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

std::map<std::string, std::string> facts_of(const Run& run) { return {run.info.environment.begin(), run.info.environment.end()}; }

// "AMD EPYC 9654" of "AMD EPYC(TM) 9654 96-Core Processor"
std::string short_name(std::string device) {
  for (const std::string_view word : {"(R)", "(TM)", " CPU", " Processor", "NVIDIA "})
    for (std::size_t at = 0; (at = device.find(word)) != std::string::npos;) device.erase(at, word.size());
  return device;
}

// The devices that the run used, GPUs before CPUs.
std::string devices_name(const Run& run) {
  bool has_cpu = false, has_cuda = false;
  for (const Row& row : run.rows) (row.trial.device_kind == DeviceKind::cpu ? has_cpu : has_cuda) = true;
  std::map<std::string, std::string> facts = facts_of(run);
  std::vector<std::string> names;
  if (has_cuda && !facts["cuda:0"].empty()) names.push_back(fmt::format("{} x {}", facts["cuda devices"], short_name(facts["cuda:0"])));
  if ((has_cpu || names.empty()) && !facts["cpu"].empty()) names.push_back(short_name(facts["cpu"]));
  return names.empty() ? run.info.name : fmt::format("{}", fmt::join(names, " and "));
}

// What distinguishes runs on equal devices, with the text that goes before it.
std::vector<std::pair<std::string, std::string>> details_of(const Run& run) {
  std::map<std::string, std::string> facts = facts_of(run);
  std::vector<std::pair<std::string, std::string>> all = {{"", facts["cpu cores"]}, {"", facts["memory"]}};
  for (const char* key : {"NVIDIA driver", "CUDA", "cuDNN", "cuBLASLt", "NCCL", "oneDNN", "kernel", "libc"})
    all.emplace_back(std::string(key == std::string("kernel") ? "" : key) + (key == std::string("kernel") ? "" : " "), facts[key]);
  all.emplace_back("mgcompare ", run.info.program_version);
  all.emplace_back("", run.info.name);
  all.emplace_back("", run.info.data_name);
  // "runs/a/" ends with an empty name.
  const std::filesystem::path directory = std::filesystem::path(run.directory + "/.").lexically_normal().parent_path();
  all.emplace_back("", directory.filename().string());
  return all;
}

// Settings that rows of different experiments have in different numbers, or by design.
bool is_of_the_plan(const std::string& key) {
  constexpr std::string_view kOwn[] = {"name", "model", "models", "layers", "strategies", "variants", "seeds", "scaling.devices", "scaling.batch", "plugins",
                                       "isolation", "checkpoint_epochs", "measure.time_limit", "measure.progress_limit", "measure.memory_limit", "data.path"};
  return std::any_of(std::begin(kOwn), std::end(kOwn),
                     [&](std::string_view own) { return key == own || (key.starts_with(own) && key[own.size()] == '.'); });
}

// The layers of the run's networks, as JSON, by name.
std::map<std::string, std::string> networks_of(const Run& run) {
  std::map<std::string, std::string> layers;
  for (const Row& row : run.rows) {
    std::string& of_name = layers[row.config->model.name];
    if (of_name.empty()) of_name = nlohmann::json(*row.config).at("layers").dump();
  }
  return layers;
}

// Names that the runs give to different networks.
std::vector<std::string> ambiguous_networks(const Run& one, const Run& other) {
  std::vector<std::string> names;
  const std::map<std::string, std::string> ours = networks_of(one);
  for (const auto& [name, layers] : networks_of(other))
    if (const auto found = ours.find(name); found != ours.end() && !differing_keys(found->second, layers).empty()) names.push_back(plain(name));
  return names;
}

std::string value_of(const std::string& text) { return text.empty() ? "nothing" : plain(text); }

}  // namespace

std::string infrastructure(const Run& run) {
  std::map<std::string, std::string> facts = facts_of(run);
  std::string& gpu = facts["cuda:0"];
  if (const std::string& count = facts["cuda devices"]; !gpu.empty() && !count.empty()) gpu = count + " x " + gpu;
  if (std::string& cores = facts["cpu cores"]; !cores.empty()) cores += " cores";
  std::string text;
  for (const char* key : {"cuda:0", "cpu", "cpu cores", "memory", "kernel"}) {
    const std::string& value = facts[key];
    if (!value.empty() && text.find(value) == std::string::npos) text += (text.empty() ? "" : ", ") + value;
  }
  return text.empty() ? "not recorded" : text;
}

std::vector<std::string> short_names(const std::vector<Run>& runs) {
  std::vector<std::string> names;
  for (const Run& run : runs) names.push_back(plain(devices_name(run)));
  const auto same = [&](std::size_t number) {
    std::vector<std::size_t> all;
    for (std::size_t other = 0; other < names.size(); ++other)
      if (names[other] == names[number]) all.push_back(other);
    return all;
  };
  std::vector<std::vector<std::pair<std::string, std::string>>> details;
  for (const Run& run : runs) details.push_back(details_of(run));
  for (std::size_t detail = 0; !runs.empty() && detail < details.front().size(); ++detail) {
    for (std::size_t number = 0; number < names.size(); ++number) {
      const std::vector<std::size_t> group = same(number);
      const std::string& mine = details[number][detail].second;
      const bool differs = std::any_of(group.begin(), group.end(), [&](std::size_t other) { return details[other][detail].second != mine; });
      if (!differs) continue;
      for (const std::size_t other : group) {
        const auto& [before, value] = details[other][detail];
        if (!value.empty()) names[other] += ", " + plain(before + value);
      }
    }
  }
  // The same run twice.
  for (std::size_t number = 0; number < names.size(); ++number) {
    const std::vector<std::size_t> group = same(number);
    for (std::size_t k = 1; k < group.size(); ++k) names[group[k]] += fmt::format(" #{}", k + 1);
  }
  return names;
}

std::vector<std::string> differences(const std::vector<Run>& runs, const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (std::size_t number = 1; number < runs.size(); ++number) {
    const RunInfo &one = runs.front().info, &other = runs[number].info;
    const std::string both = fmt::format("{} and {}", names.front(), names[number]);
    if (one.data_fingerprint != other.data_fingerprint)
      all.push_back(fmt::format("{} trained on different data: {} and {}; their accuracies and times to a target cannot be compared", both,
                                value_of(one.data_name), value_of(other.data_name)));
    std::vector<std::string> keys = differing_keys(one.config_json, other.config_json);
    std::erase_if(keys, is_of_the_plan);
    if (!keys.empty())
      all.push_back(fmt::format("{} differ in {}: a difference of their rows may be due to that", both, listed(keys, 8)));
    if (const std::vector<std::string> networks = ambiguous_networks(runs.front(), runs[number]); !networks.empty())
      all.push_back(fmt::format("{} have different networks under one name ({}): their rows must not be compared", both, listed(networks, 8)));
    if (one.program_version != other.program_version)
      all.push_back(fmt::format("{} were made by different versions of the program: {} and {}", both, value_of(one.program_version),
                                value_of(other.program_version)));
    for (const std::string& framework : differing_frameworks(runs.front(), runs[number]))
      all.push_back(fmt::format("{} were trained with different versions of {}", both, framework));
    if (one.started == other.started && !one.started.empty() && one.config_hash == other.config_hash)
      all.push_back(fmt::format("{} are the same run", both));
  }
  return all;
}

std::string network_of(const Comparison& comparison) {
  if (!comparison.network.empty()) return comparison.network;
  return comparison.run == nullptr || comparison.run->rows.empty() ? "no model" : comparison.run->rows.front().config->model.name;
}

}  // namespace mgcompare
