#pragma once

// The steps of a comparison that main.cc names.

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "results/link_measurements.h"
#include "plan/plan.h"
#include "reports/summary.h"
#include "results/results_store.h"
#include "services/device_availability.h"
#include "process/supervisor.h"

namespace mgcompare {

// The plan without what --only leaves out. Throws UsageError for a filter that fits nothing.
Plan filtered(Plan plan, const Command& command);
// The plan and a rough estimate, on stdout.
int print_plan(const Plan& plan);
// Where this run's results are or will be: -o, the newest run of this config for --resume, or a new folder.
std::string directory_of(const Command& command, const Config& config);
// Of the process that trials run in.
SupervisorSettings trial_settings(const std::string& directory);
// Which samples all trials train on.
struct FoundData {
  std::string name, origin, fingerprint;
};
// Has a worker read, fetch or draw the data and says which it was. Throws Error when there is none.
FoundData find_data(Supervisor& supervisor, const Plan& plan, const Command& command);
// What the devices that trials share a model over do to data, briefly, for each kind. A problem taints the run.
std::vector<LinkMeasurements> check_links(Supervisor& supervisor, const Plan& plan);
// Begins or carries on with the run of this plan on these data.
void begin_run(ResultsStore& results, const Plan& plan, const FoundData& data, const std::vector<LinkMeasurements>& links,
               const Command& command);
// What is still to run, in the plan's order.
std::vector<Trial> trials_to_run(const ResultsStore& results, const Plan& plan, const Command& command);
// Says on stderr what will run, where the results go, and about how long it takes.
void announce(const Plan& plan, const std::vector<Trial>& trials, const std::string& directory, const Command& command);
// The bar; it is told of each trial's progress.
ProgressDisplay make_display(const std::vector<Trial>& trials, const Command& command);
// One trial to its row, whatever happens; a row too where it cannot run.
Result run_trial(Supervisor& supervisor, DeviceAvailability& availability, const Trial& trial, const std::string& directory,
                 const Command& command, ProgressDisplay& display);
// Where the trial's record is, or would be.
std::string record_of(const TrialKey& trial, const std::string& directory);
// The closing summary and the paths of the run's files, on stdout.
void print_summary(const Run& run, const std::vector<std::string>& files, const Command& command,
                   Objective objective = Objective::time_to_accuracy);
// How stdout shows text.
Style print_style(const Command& command);
int exit_code_of(const Run& run);

}  // namespace mgcompare
