#include "plan/host_rows.h"

#include "discovery/manifest.h"

namespace mgcompare {

std::string refused_hosts(const Trial& trial, const Traits& traits) {
  if (trial.hosts == 1) return "";
  if (is_backend(trial.plugin_file)) return "backends run on one host";
  if (traits.one_host) return "its ranks share the memory of one host";
  return "";
}

}  // namespace mgcompare
