#pragma once

// Whether a plan continues a run that has begun.

#include <map>
#include <string>
#include <vector>

#include "plan/trial.h"
#include "results/results_store.h"

namespace mgcompare {

inline bool is_damaged(const Row& row) { return row.state == RowState::finished && row.result.status == TrialStatus::damaged; }

// The settings that tell two experiments apart. The name is a label, which a config without one takes from its file; that of
// the network goes with its layers; plugins are compared by their content; and a price changes no trial,
// nor does how hosts are started and watched.
std::vector<std::string> differing_settings(const RunInfo& one, const std::string& other_config);

// A captured fact: the load average when a session began.
inline constexpr char kLoadBefore[] = "load before the run";

// The environment variables among the facts that were captured, without those that change no figure: which GPUs are visible, as the devices
// are compared, what libraries print, and where they find files.
std::map<std::string, std::string> variables_of(const RunInfo& info);

// The first of them that has changed since the run began, as "DNNL_MAX_CPU_ISA=SSE41, which is not set now"; empty if none has.
std::string changed_variable(const RunInfo& before, const RunInfo& now);

// Throws InUse if one of them has changed since the run began. Call it if the session trains.
void check_variables(const Run& run, const RunInfo& info);

// Throws InUse unless the plan continues the run: same config, program, machine and trials; BadResults if the run cannot be continued; and
// Error if memory does not suffice to find the devices of this machine. `known`: the run's rows, by the numbers of their trials.
void check_continues(const Run& run, const RunInfo& info, const std::vector<Trial>& plan, const std::map<int, const Row*>& known);

}  // namespace mgcompare
