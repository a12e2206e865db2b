#include "train/training_identity.h"

#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "discovery/plugin_checksum.h"
#include "config/config.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

// The settings that determine a training. The trial has its own strategy, devices, batch and seed.
Config training_settings(Config config) {
  const Config defaults;
  config.name = config.model.name = defaults.name;
  config.seeds = defaults.seeds;
  config.scaling = defaults.scaling;
  config.variants = defaults.variants;
  config.strategies = defaults.strategies;
  config.plugin_paths = defaults.plugin_paths;
  config.python = defaults.python;
  config.isolation = defaults.isolation;
  config.checkpoint_epochs = defaults.checkpoint_epochs;
  config.measure.time_limit = defaults.measure.time_limit;
  config.measure.progress_limit = defaults.measure.progress_limit;
  config.measure.memory_limit = defaults.measure.memory_limit;
  return config;
}

std::string checksum_of(const std::string& plugin) {
  if (plugin.empty()) return "";
  const std::string checksum = checksum_of_plugin(plugin);
  if (checksum.empty()) throw Error("the plugin " + plugin + " cannot be read; build or install it again");
  return checksum;
}

}  // namespace

std::string training_identity(const Trial& trial, const Dataset& data, const std::string& run) {
  nlohmann::json options = nlohmann::json::array();
  for (const OptionConfig& option : trial.strategy.options) options.push_back({option.key, option.value});
  const nlohmann::json parts = {{"run", run},
                                {"settings", config_hash(training_settings(trial.config))},
                                {"strategy", trial.strategy.name},
                                {"options", options},
                                {"plugin", checksum_of(trial.plugin_file)},
                                {"device kind", to_string(trial.device_kind)},
                                {"devices", trial.devices},
                                {"hosts", trial.hosts},
                                {"ranks per device", trial.ranks_per_device},
                                {"scaling", to_string(trial.scaling)},
                                {"control", trial.control},
                                {"reference", trial.reference},
                                {"rehearsal", trial.rehearsal},
                                {"rehearsed rank", trial.rehearsed_rank},
                                {"batch", trial.global_batch},
                                {"seed", trial.seed},
                                {"data", data.fingerprint}};
  return sha256(parts.dump());
}

}  // namespace mgcompare
