#pragma once

// The questions that come before the first trial, asked in a process of their own because they open modules and plugins.
// Both sides are here: ProbeClient asks, probe_handlers() answers in the worker.

#include <memory>
#include <string>
#include <vector>

#include "discovery/capabilities.h"
#include "process/supervisor.h"
#include "process/worker.h"

namespace mgcompare {

class ProbeClient : public CapabilityProbe {
 public:
  explicit ProbeClient(SupervisorSettings settings);

  // Folders of plugins beside the usual ones.
  void search(std::vector<std::string> extra_plugin_paths);

  // Each asks once and remembers. Throws Error when the process that looks for devices dies.
  std::vector<PlatformSummary> platforms() override;
  std::vector<PluginSummary> plugins() override;
  // A strategy that kills or hangs its probe is answered with `crash`; the others are asked in a fresh process.
  std::vector<StrategySummary> ask(const std::vector<ProbeQuestion>& questions) override;

 private:
  Supervisor supervisor_;
  std::vector<std::string> extra_plugin_paths_;
  std::unique_ptr<std::vector<PlatformSummary>> platforms_;
  std::unique_ptr<std::vector<PluginSummary>> plugins_;
};

Handlers probe_handlers();

}  // namespace mgcompare
