#pragma once

// Discovery of devices and strategies before the first trial, in a worker process because it opens modules and plugins.
// ProbeClient sends the requests; probe_handlers() handles them in the worker.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "discovery/capabilities.h"
#include "process/supervisor.h"
#include "process/worker.h"

namespace mgcompare {

class ProbeClient : public CapabilityProbe {
 public:
  // `data_folder`: --data, or "".
  explicit ProbeClient(SupervisorSettings settings, std::string data_folder = "");

  // Adds plugin directories to the standard ones.
  void search(std::vector<std::string> extra_plugin_paths);

  // The results are cached. platforms() throws Error if the worker dies or lacks descriptors or processes.
  std::vector<PlatformSummary> platforms() override;
  std::vector<PluginSummary> plugins() override;
  DataSummary samples(const Config& config) override;
  // Warnings about the data that were last described.
  const std::vector<std::string>& data_remarks() const { return data_remarks_; }
  // If a strategy crashes or hangs the worker, its summary has `crash`; the next strategies are probed in a new worker.
  std::vector<StrategySummary> ask(const std::vector<ProbeQuestion>& questions) override;

 private:
  std::vector<PlatformSummary> list_platforms();
  StrategySummary ask_strategy(const ProbeQuestion& question);
  StrategySummary ask_backend(const ProbeQuestion& question);

  Supervisor supervisor_;
  std::string data_folder_;
  std::vector<std::string> extra_plugin_paths_;
  std::vector<std::string> data_remarks_;
  std::unique_ptr<std::vector<PlatformSummary>> platforms_;
  std::unique_ptr<std::vector<PluginSummary>> plugins_;
  std::unique_ptr<TemporaryFolder> scratch_;         // of backends
  std::map<std::string, StrategySummary> backends_;  // answers of backends, by question
  std::map<std::string, StrategySummary> unopened_;  // of plugins that blocked the worker when they were opened, by file
};

Handlers probe_handlers();

}  // namespace mgcompare
