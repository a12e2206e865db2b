#include "base/print.h"
#include "cli/command_line.h"
#include "cli/link_check.h"
#include "cli/run_command.h"
#include "cli/until_decided.h"
#include "plan/plan.h"
#include "services/host_trials.h"
#include "services/probe_service.h"
#include "process/process.h"
#include "process/run_hosts.h"
#include "reports/report.h"
#include "results/results_store.h"
#include "process/signals.h"
#include "process/supervisor.h"
#include "services/worker_main.h"

namespace {

using namespace mgcompare;

// The probe process ends with this function, so that it does not disturb the measurements.
Plan make_plan(const Command& command) {
  ProbeClient probe(supervisor_settings(), command.data);
  const Config config = config_of(command, probe);
  probe.search(config.plugin_paths);
  try {
    Plan plan = with_checksums(filtered(make_plan(config, probe, hosts_of(config)), command));
    add_remarks(plan, config, probe, command);
    return plan;
  } catch (const Error&) {
    // They may explain it.
    for (const std::string& remark : probe.data_remarks()) print_stderr("warning: {}\n", remark);
    throw;
  }
}

int compare(const Command& command) {
  Plan plan = make_plan(command);
  if (command.dry_run) return print_plan(plan);

  const std::string directory = directory_of(command, plan.config);
  ResultsStore results(directory);
  if (command.resume) plan = with_further_blocks(std::move(plan), results);
  Supervisor supervisor(trial_settings(directory));
  const FoundData data = find_data(supervisor, plan, command);
  HostTrials hosts(plan.hosts, trial_settings(directory));
  // Before a new run has rows; of a run that continues, the hosts of finished rows need not be there any more.
  if (!command.resume) hosts.check(plan.trials, plan.config, data_of(command), data.fingerprint);
  begin_run(results, plan, data, check_links(supervisor, plan), command);
  const std::vector<Trial> trials = trials_to_run(results, plan, data, command);
  if (command.resume) hosts.check(trials, plan.config, data_of(command), data.fingerprint);
  announce(plan, trials, hosts, directory, command);
  ProgressDisplay display = make_display(plan, trials, command);
  DeviceAvailability availability(plan.platforms);
  FittingBatch fitting;
  const auto run_one = [&](const Trial& trial, ProgressDisplay& progress) {
    run_trial(results, supervisor, hosts, availability, fitting, trial, directory, command, progress);
  };
  for (const Trial& trial : trials) {
    if (interruption() != 0) break;
    run_one(trial, display);
  }
  if (command.until_decided) run_until_decided(results, plan, data.fingerprint, command, run_one);

  const Run run = results.read();
  const Overview overview = overview_of(run);
  print_summary(overview, write_reports(overview, directory), command);
  results.close(run);
  const int code = exit_code_of(run);
  if (interruption() != 0 && code == kDone) print_stderr("the signal came after the last trial: the results are complete\n");
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  if (argc >= 2 && is_worker_option(argv[1])) return run_worker(argc, argv);
  return run_printing_errors([&] {
    require_limits();
    listen_to_signals();
    const Parsed parsed = parse(argc, argv);
    if (parsed.exit_code) return *parsed.exit_code;
    return parsed.command.name == "run" ? compare(parsed.command) : other_command(parsed.command);
  });
}
