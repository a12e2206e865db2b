#pragma once

// The steps of `run`, in the order of main.cc.

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "results/link_measurements.h"
#include "plan/plan.h"
#include "reports/overview.h"
#include "reports/summary.h"
#include "results/results_store.h"
#include "services/device_availability.h"
#include "services/fitting_batch.h"
#include "services/host_trials.h"
#include "process/supervisor.h"

namespace mgcompare {

// The part of the plan that --only selects. Throws UsageError if it selects nothing.
Plan filtered(Plan plan, const Command& command);
// Prints the plan and a rough estimate of the time on stdout.
int print_plan(const Plan& plan);
// Adds warnings about the data, and about what the config gives otherwise than it may have been meant.
void add_remarks(Plan& plan, const Config& config, const ProbeClient& probe, const Command& command);
// Records the content of the plugins' files in the trials, so that a file that changes is noticed.
Plan with_checksums(Plan plan);
// The directory of this run: -o, with --resume the newest run of this experiment, else a new directory. Throws UsageError if
// there is nothing to resume.
std::string directory_of(const Command& command, const Config& config);
// Settings of the worker process for trials.
SupervisorSettings trial_settings(const std::string& directory);
// The data set that all trials use.
struct FoundData {
  std::string name, origin, fingerprint, remark;
};
// Loads, downloads or generates the data in a worker and prints which they are. Throws Error if there are none.
FoundData find_data(Supervisor& supervisor, const Plan& plan, const Command& command);
// Where the trials of the command find their data, and whether they send them to other hosts; names no other file.
TrialFiles data_of(const Command& command);
// Begins or continues the run of this plan on these data.
void begin_run(ResultsStore& results, const Plan& plan, const FoundData& data, const std::vector<LinkMeasurements>& links,
               const Command& command);
// The trials still to run, in the order of the plan.
std::vector<Trial> trials_to_run(const ResultsStore& results, const Plan& plan, const FoundData& data, const Command& command);
// Prints on stderr what will run, the directory of the results, and the estimated time.
void announce(const Plan& plan, const std::vector<Trial>& trials, HostTrials& hosts, const std::string& directory, const Command& command);
// The progress display for these trials.
ProgressDisplay make_display(const Plan& plan, const std::vector<Trial>& trials, const Command& command);
// Runs one trial and records its result, also on failure and if the trial cannot run. What is printed as finished has been
// recorded.
void run_trial(ResultsStore& results, Supervisor& supervisor, HostTrials& hosts, DeviceAvailability& availability, FittingBatch& fitting, const Trial& trial,
               const std::string& directory, const Command& command, ProgressDisplay& display);
// The path of the trial's schedule log.
std::string record_of(const TrialKey& trial, const std::string& directory);
// Prints the closing summary and the paths of the run's files on stdout.
void print_summary(const Overview& overview, const std::vector<std::string>& files, const Command& command);
// Colour and encoding of stdout.
Style print_style(const Command& command);
int exit_code_of(const Run& run);

}  // namespace mgcompare
