#pragma once

// Config -> Plan: the trials in their order of execution. Trials form randomised complete blocks: one block per seed, with
// every combination of network, strategy, devices, batch and variant once. Extra baseline runs (baseline_reruns.h) are added between
// them, and checks of exact rows (controls.h). Impossible combinations are refused here, before the first trial.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "discovery/capabilities.h"
#include "plan/controls.h"
#include "plan/trial.h"

namespace mgcompare {

struct Plan {
  Config config;
  HostsConfig hosts;                // those of the config, or found for it
  std::vector<Trial> trials;  // in order of execution
  std::vector<std::string> warnings;
  std::vector<PlatformSummary> platforms;
  std::vector<PluginSummary> plugins;
  std::map<std::string, Traits> traits;  // by label of the strategy
  CheckedRows checked;
  DataSummary data;
};

// Throws ConfigError for a network that does not fit the data and for problems that strategies report about their options, and
// Error if the data are missing or wrong, or if no trial can run. `hosts`: in place of those of the config.
Plan make_plan(const Config& config, CapabilityProbe& probe, const HostsConfig& hosts);
inline Plan make_plan(const Config& config, CapabilityProbe& probe) { return make_plan(config, probe, config.hosts); }

// The trials that match a filter, in the plan's order: "strategy=NAME,devices=1:4,batch=64,model=NAME,variant=x,seed=1". Values of a
// repeated key are alternatives. `devices` is a count, a range, a kind, or kind and count ("cpu:2"). `variant=base` is the
// config without a variant. On two hosts with two devices each a count is "2x2". `strategy` matches names of strategies and
// labels, `as` only labels. In names, a comma is written `\,` and a backslash `\\`. Baseline re-runs and checks are placed anew.
// Throws Error for an unknown key, and for a value that no trial has.
std::vector<Trial> only(const Plan& plan, const std::string& filter);
// Escapes a name for use in a filter.
std::string in_filter(const std::string& value);

// The plan as a table, with warnings and a rough estimate of the time.
std::string describe(const Plan& plan);

// Estimated seconds of a trial with set-up and evaluation; 0 if it cannot run. `measured`: training samples/s by row_name();
// other rows are estimated roughly from the network's arithmetic.
double estimate_seconds(const Trial& trial, const DataSummary& data, const std::map<std::string, double>& measured = {});
double estimate_seconds(const std::vector<Trial>& trials, const DataSummary& data, const std::map<std::string, double>& measured = {});

}  // namespace mgcompare
