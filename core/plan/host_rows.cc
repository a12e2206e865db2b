#include "plan/host_rows.h"

#include "discovery/manifest.h"

namespace mgcompare {

std::string refused_hosts(const Trial& trial, const Traits& traits) {
  if (trial.hosts == 1) return "";
  if (is_backend(trial.plugin_file)) return "backends run on one host";
  if (traits.pace == Traits::Pace::free) return "ranks at free pace reach each other's memory, and this version has them on one host only";
  if (traits.one_host) return "its ranks share the memory of one host";
  return "";
}

}  // namespace mgcompare
