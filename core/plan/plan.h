#pragma once

// Which trials an experiment asks for, in the order in which they run: randomised complete blocks, one a seed, each
// with every combination of strategy, devices, batch and variant once, and the one-device baseline beside them at the
// beginning, at the end and between (brackets.h). What cannot be is refused here, before the first trial.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "discovery/capabilities.h"
#include "plan/trial.h"

namespace mgcompare {

struct Plan {
  Config config;
  std::vector<Trial> trials;  // in order of execution
  std::vector<std::string> warnings;
  std::vector<PlatformSummary> platforms;
  std::vector<PluginSummary> plugins;
  std::map<std::string, Traits> traits;  // by a strategy's label
};

// `samples_in_set`: training samples of the whole data set. Throws ConfigError for what a strategy says of its options,
// Error where nothing could run at all.
Plan make_plan(const Config& config, CapabilityProbe& probe, std::size_t samples_in_set = 60000);

// The trials that a filter names, in the plan's order: "strategy=NAME,devices=1:4,batch=64,variant=x,seed=1". A key
// given twice means either; devices are a count, a range, a kind, or both ("cpu:2"); `variant=base` is the config as it
// is; `strategy` takes all rows of a strategy, or the one that the config names so; `as` takes the latter only. A comma
// of a name is written `\,` and a backslash `\\`. What is left is bracketed anew. Throws Error for a key that does not
// exist and for a value that no trial has.
std::vector<Trial> only(const Plan& plan, const std::string& filter);
// A name as a filter's value.
std::string in_filter(const std::string& value);

// The plan as a table for people, with warnings and a rough estimate of the time.
std::string describe(const Plan& plan);

// Seconds that a trial will take, set-up and evaluation included; 0 for one that cannot run. `measured` holds training
// samples/s by row_name(); a row that is not in it is guessed from the network's arithmetic, which is rough.
double estimate_seconds(const Trial& trial, const std::map<std::string, double>& measured = {},
                        std::size_t samples_in_set = 60000);
double estimate_seconds(const std::vector<Trial>& trials, const std::map<std::string, double>& measured = {},
                        std::size_t samples_in_set = 60000);

}  // namespace mgcompare
