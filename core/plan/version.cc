#include "plan/version.h"

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "config/config_tree.h"

namespace mgcompare {
namespace {

// `verify` has samples, lengths, rates and numbers of ranks of its own.
std::string what_is_verified(const Config& config) {
  nlohmann::ordered_json tree = resolved_tree(config);
  for (const char* key :
       {"name", "epochs", "evaluate", "target_accuracy", "seeds", "schedule", "scaling", "deterministic", "measure", "checkpoint_epochs", "isolation"})
    tree.erase(key);
  tree["optimizer"].erase("learning_rate");
  return tree.dump();
}

}  // namespace

std::vector<Version> versions_of(const Config& config) {
  std::vector<Version> versions;
  for (const ModelConfig& model : networks_of(config)) {
    const std::string network = config.models.empty() ? "" : model.name;
    versions.push_back({with_network(apply_variant(config, {}), model), network, ""});
    for (const VariantConfig& variant : config.variants)
      versions.push_back({with_network(apply_variant(config, variant), model), network, variant.name});
  }
  return versions;
}

std::vector<Version> trained_versions(const Config& config) {
  std::vector<Version> versions = versions_of(config);
  for (Version& version : versions) {
    version.config.seeds = {config.seeds.front()};
    version.config.hosts = {.names = version.config.hosts.names};
    version.config.price_per_device_hour = 0;
  }
  return versions;
}

std::vector<Version> versions_to_verify(const Config& config) {
  std::vector<Version> versions = versions_of(config);
  std::set<std::string> known;
  std::erase_if(versions, [&](const Version& version) { return !known.insert(version.network + "\n" + what_is_verified(version.config)).second; });
  return versions;
}

}  // namespace mgcompare
