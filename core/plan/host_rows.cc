#include "plan/host_rows.h"

#include "discovery/manifest.h"

namespace mgcompare {

std::string refused_hosts(const Trial& trial, const Traits& traits) {
  if (trial.hosts == 1) return "";
  if (is_backend(trial.plugin_file)) return "backends run on one host";
  if (trial.device_kind != DeviceKind::cpu && trial.ranks_per_device > 1) return "several ranks on a GPU train on one host";
  if (traits.one_host) return "its ranks share the memory of one host";
  return "";
}

}  // namespace mgcompare
