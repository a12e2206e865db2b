#include "plan/trial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "discovery/plugin_checksum.h"
#include "mgcompare/error.h"
#include "mgcompare/strategy.h"

namespace mgcompare {
namespace {

nlohmann::json place_json(const Place& place) { return {place.file, place.line, place.column}; }

Place place_of(const nlohmann::json& json) { return {json.at(0), json.at(1), json.at(2)}; }

nlohmann::json strategy_json(const StrategyConfig& strategy) {
  nlohmann::json options = nlohmann::json::array();
  for (const OptionConfig& option : strategy.options) {
    options.push_back(
        {{"key", option.key}, {"value", option.value}, {"quoted", option.quoted}, {"place", place_json(option.place)}});
  }
  return {
      {"name", strategy.name}, {"label", strategy.label}, {"options", options}, {"place", place_json(strategy.place)}};
}

StrategyConfig strategy_of(const nlohmann::json& json) {
  StrategyConfig strategy;
  strategy.name = json.at("name");
  strategy.label = json.at("label");
  strategy.place = place_of(json.at("place"));
  for (const auto& option : json.at("options")) {
    strategy.options.push_back(
        {option.at("key"), option.at("value"), option.at("quoted"), place_of(option.at("place"))});
  }
  return strategy;
}

[[noreturn]] void refuse(const nlohmann::json::exception& error) {
  throw Error(fmt::format("a stored trial was written by another version ({})", error.what()));
}

// A whole number of a file that somebody may have changed.
std::size_t count_in(const nlohmann::json& json, const char* key, std::int64_t most) {
  const nlohmann::json& value = json.at(key);
  // Beyond the range of int64_t, it is negative there.
  const std::int64_t number = value.is_number_integer() ? value.get<std::int64_t>() : 0;
  if (number < 1 || number > most) throw Error(fmt::format("'{}' of a trial is {}, not a whole number from 1 to {}", key, value.dump(), most));
  return static_cast<std::size_t>(number);
}

// More than any plan has; the number of ranks fits into an int.
constexpr std::int64_t kMostDevices = 1 << 20, kMostRanksOfADevice = 1 << 10, kMostSamples = std::int64_t{1} << 50;

}  // namespace

Facts facts_of(const TrialKey& trial, const Config& config, std::size_t training_samples) {
  Facts facts;
  facts.ranks = static_cast<int>(trial.ranks());
  facts.hosts = static_cast<int>(trial.hosts);
  facts.global_batch = trial.global_batch;
  facts.steps_per_epoch = (training_samples + trial.global_batch - 1) / trial.global_batch;
  facts.epochs = config.epochs;
  facts.optimizer = to_string(config.optimizer.kind);
  facts.momentum = config.optimizer.kind == OptimizerKind::sgd ? config.optimizer.momentum : 0;
  facts.device = trial.device_kind;
  facts.ordered = is_repeatable(config);
  return facts;
}

Precision precision_of(const Config& config, DeviceKind kind) {
  if (config.precision != Precision::automatic) return config.precision;
  return kind == DeviceKind::cuda ? Precision::tf32 : Precision::fp32;
}

std::string devices_number(const TrialKey& trial) {
  // A rehearsal has the id of one device only.
  if (!trial.ids.empty() && !trial.rehearsal) return fmt::format("[{}]", fmt::join(trial.ids, "+"));
  return trial.hosts > 1 ? fmt::format("{}x{}", trial.hosts, trial.devices_per_host()) : fmt::format("{}", trial.devices);
}

std::string row_name(const TrialKey& trial) {
  const bool weak = trial.scaling == ScalingMode::weak && trial.devices > 0;
  std::string name = trial.network.empty() ? "" : trial.network + ": ";
  name += fmt::format("{} {}:{}", trial.strategy.label, to_string(trial.device_kind), devices_number(trial));
  if (trial.ranks_per_device != 1) name += fmt::format(" x {} ranks", trial.ranks_per_device);
  name += weak ? fmt::format(" batch {} per device", trial.global_batch / trial.devices)
               : fmt::format(" batch {}", trial.global_batch);
  if (!trial.variant.empty()) name += " " + trial.variant;
  if (!trial.rehearsal) return name;
  return name + (trial.rehearsed_rank == 0 ? " (rehearsal)" : fmt::format(" (rehearsal of rank {})", trial.rehearsed_rank));
}

std::string plugin_change(const TrialKey& trial) {
  if (trial.plugin_sha256.empty()) return "";
  const std::string now = checksum_of_plugin(trial.plugin_file);
  if (now == trial.plugin_sha256) return "";
  std::error_code ignored;
  if (!std::filesystem::exists(trial.plugin_file, ignored))
    return fmt::format("{} is gone since the run was planned; put it back, and run again with --resume", trial.plugin_file);
  if (now.empty())
    return fmt::format("{} cannot be read any more; correct its permissions, and run again with --resume", trial.plugin_file);
  return fmt::format("{} has changed since the run was planned; run again with --resume, which also repeats the finished trials of {}",
                     trial.plugin_file, trial.strategy.name);
}

std::string_view to_string(DeviceKind kind) { return kind == DeviceKind::cpu ? "cpu" : "cuda"; }

DeviceKind device_kind(std::string_view name) {
  if (name == "cpu") return DeviceKind::cpu;
  if (name == "cuda") return DeviceKind::cuda;
  throw Error(fmt::format("there is no kind of device '{}'; there are cpu and cuda", name));
}

void to_json(nlohmann::json& json, const Trial& trial) {
  to_json(json, static_cast<const TrialKey&>(trial));
  json["config"] = trial.config;
  if (!trial.indices.empty()) json["indices"] = trial.indices;
  if (!trial.traits.empty()) {
    json["traits"] = trial.traits;
    json["planned_steps"] = trial.planned_steps;
  }
}

void from_json(const nlohmann::json& json, Trial& trial) {
  try {
    Config config = json.at("config").get<Config>();
    from_json(json, static_cast<TrialKey&>(trial));
    trial.config = std::move(config);
    trial.indices = json.value("indices", std::vector<int>());
    trial.traits = json.value("traits", TraitTexts());
    trial.planned_steps = json.value("planned_steps", std::size_t{0});
  } catch (const nlohmann::json::exception& error) {
    refuse(error);
  }
}

void to_json(nlohmann::json& json, const TrialKey& trial) {
  json = {{"number", trial.number},
          {"block", trial.block},
          {"bracket", trial.bracket},
          {"control", trial.control},
          {"reference", trial.reference},
          {"strategy", strategy_json(trial.strategy)},
          {"plugin_file", trial.plugin_file},
          {"plugin_sha256", trial.plugin_sha256},
          {"device_kind", to_string(trial.device_kind)},
          {"devices", trial.devices},
          {"ranks_per_device", trial.ranks_per_device},
          {"scaling", to_string(trial.scaling)},
          {"global_batch", trial.global_batch},
          {"network", trial.network},
          {"variant", trial.variant},
          {"seed", trial.seed},
          {"data_fingerprint", trial.data_fingerprint},
          {"unavailable", trial.unavailable}};
  if (trial.rehearsal) json["rehearsal"] = true;
  if (trial.rehearsed_rank > 0) json["rehearsed_rank"] = trial.rehearsed_rank;
  if (trial.hosts > 1) json["hosts"] = trial.hosts;
  if (!trial.ids.empty()) json["ids"] = trial.ids;
}

void from_json(const nlohmann::json& json, TrialKey& trial) {
  try {
    TrialKey read;
    read.number = json.at("number");
    read.block = json.at("block");
    read.bracket = json.value("bracket", 0);
    read.control = json.value("control", false);
    read.reference = json.value("reference", false);
    read.rehearsal = json.value("rehearsal", false);
    read.strategy = strategy_of(json.at("strategy"));
    read.plugin_file = json.at("plugin_file");
    read.plugin_sha256 = json.value("plugin_sha256", "");
    read.device_kind = device_kind(json.at("device_kind").get<std::string>());
    read.devices = count_in(json, "devices", kMostDevices);
    if (json.contains("rehearsed_rank")) read.rehearsed_rank = count_in(json, "rehearsed_rank", static_cast<std::int64_t>(read.devices) - 1);
    if (json.contains("hosts")) read.hosts = count_in(json, "hosts", static_cast<std::int64_t>(read.devices));
    if (read.devices % read.hosts != 0) throw Error(fmt::format("a trial has {} devices on {} hosts, which is impossible", read.devices, read.hosts));
    read.ids = json.value("ids", std::vector<int>());
    read.ranks_per_device = count_in(json, "ranks_per_device", kMostRanksOfADevice);
    read.scaling = kind_named<ScalingMode>(json.at("scaling").get<std::string>());
    read.global_batch = count_in(json, "global_batch", kMostSamples);
    read.network = json.value("network", "");
    read.variant = json.at("variant");
    read.seed = json.at("seed");
    read.data_fingerprint = json.value("data_fingerprint", "");
    read.unavailable = json.at("unavailable");
    trial = std::move(read);
  } catch (const nlohmann::json::exception& error) {
    refuse(error);
  }
}

}  // namespace mgcompare
