#pragma once

// `verify` in worker processes, because it opens plugins and devices. Both sides are here. Each row is a request of its own:
// a plugin that ends or blocks its worker is a failed check, and the other rows are checked in a new worker.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "process/worker.h"
#include "results/verify_finding.h"
#include "services/probe_service.h"
#include "services/verify_pace.h"

namespace mgcompare {

// What the verifications of one command know of each other.
struct VerifyHistory {
  VerifyPace pace;
  std::map<std::string, Reply> unopened;  // of plugins that blocked the worker when they were opened, by file
};

struct VerifyRequest {
  Config config;                    // its strategies are checked; measure.time_limit: seconds for each training
  std::optional<Config> other_config;  // with another network of the same experiment, with which a worker begins; none: there is one network
  std::string data_folder;          // given with --data; empty: not given
  std::uint64_t seed = 1;
  bool quick = false;               // quick_scope()
  std::size_t later_rows = 0;       // of the versions of the config that are verified after this one
  std::shared_ptr<VerifyHistory> history = std::make_shared<VerifyHistory>();
};

struct VerifyListeners {
  std::function<void(const std::string& device_kind)> begins;
  // Row `row` of `rows` (from 0) begins, `again`: in another process. `seconds_left`: until the end, with later versions; 0: not known.
  std::function<void(const std::string& label, std::size_t row, std::size_t rows, bool again, double seconds_left)> row_begins;
  std::function<void(const VerifyFinding&)> found;
  std::function<void(const std::string& text)> says;
};

// On GPUs if there are any and the config does not list CPUs only, as in training. Throws Error if it lists GPUs only and there are none.
std::string device_kind_to_verify(CapabilityProbe& probe, const ScalingConfig& scaling);

// Calls the listeners while it runs. Returns all findings. Throws Error if it cannot begin, or if the user stops it.
std::vector<VerifyFinding> verify_in_workers(const VerifyRequest& request, CapabilityProbe& probe, SupervisorSettings settings,
                                       const VerifyListeners& listeners);

Handlers verify_handlers();

}  // namespace mgcompare
