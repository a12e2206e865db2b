#include "plan/version.h"

namespace mgcompare {

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

}  // namespace mgcompare
