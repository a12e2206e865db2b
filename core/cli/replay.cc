#include "cli/replay.h"
#include "base/sha256.h"
#include "base/text.h"

#include <filesystem>
#include <map>
#include <set>

#include <fmt/core.h>

#include "cli/run_command.h"
#include "discovery/plugin_files.h"
#include "process/message.h"
#include "mgcompare/error.h"
#include "process/signals.h"

namespace mgcompare {
namespace {

// The plugins by the names of their strategies. The run says which strategy and which build a trial used, but not where its
// file is: a path in a results file that comes from somebody else would let that file choose the code that is executed.
std::map<std::string, std::string> plugins_for(const Run& run, bool trust_results) {
  std::set<std::string> paths;
  for (const Row& row : run.rows)
    if (trust_results) paths.insert(row.config->plugin_paths.begin(), row.config->plugin_paths.end());
  std::map<std::string, std::string> files;
  for (const PluginSummary& plugin : find_plugins({paths.begin(), paths.end()}))
    if (plugin.problem.empty()) files.emplace(plugin.name, plugin.file);
  return files;
}

// Sets the plugin's file. Returns why the trial cannot be replayed; empty if it can.
std::string choose_plugin(TrialKey& trial, const std::map<std::string, std::string>& plugins, bool trust_results) {
  const auto found = plugins.find(trial.strategy.name);
  if (found == plugins.end()) {
    return fmt::format("no plugin of this name is in the search path; add its directory to MGCOMPARE_PLUGIN_PATH{}",
                       trust_results ? "" : ", or use the directories in the run's config with --trust-results");
  }
  trial.plugin_file = found->second;
  if (trial.plugin_sha256.empty() || sha256_of_file(trial.plugin_file) == trial.plugin_sha256) return "";
  return fmt::format("{} is not the build with which the trial ran; install that build, or run the experiment again",
                     trial.plugin_file);
}

std::string outcome_of(Supervisor& supervisor, const Trial& trial, const TrialFiles& files, const Row& row, bool& equal) {
  const Result result = supervisor.run(trial, files, [](const Progress&) {});
  equal = result.status == TrialStatus::done && result.weights_hash == row.result.weights_hash;
  if (equal) return "the same weights, bit by bit";
  return result.status == TrialStatus::done ? "other weights than in the run"
                                            : fmt::format("{} ({})", result.cause, to_string(result.status));
}

}  // namespace

int replay_run(const Command& command) {
  const Run run = read_run(command.target);
  const std::map<std::string, std::string> plugins = plugins_for(run, command.trust_results);
  Supervisor supervisor(trial_settings(command.target));
  int replayed = 0, same = 0;
  for (const Row& row : run.rows) {
    TrialFiles files;
    files.record = record_of(row.trial, command.target);
    files.replay = true;
    if (row.state != RowState::finished || row.result.status != TrialStatus::done || !std::filesystem::is_regular_file(files.record)) continue;
    if (interruption() != 0) return exit_code_of(interruption());
    Trial trial{row.trial, *row.config};
    trial.data_fingerprint = run.info.data_fingerprint;
    bool equal = false;
    std::string outcome = choose_plugin(trial, plugins, command.trust_results);
    if (outcome.empty()) outcome = outcome_of(supervisor, trial, files, row, equal);
    ++replayed;
    same += equal ? 1 : 0;
    fmt::print("{:<8} {}, seed {}: {}\n", equal ? "ok" : "FAILED", plain(row_name(trial)), trial.seed, plain(outcome));
  }
  if (replayed == 0)
    throw Error(command.target + " contains no record of a finished trial: only strategies with the trait free pace write one, and only with "
                "`measure: {record: true}`");
  fmt::print("{} of {} trials ended with the same weights\n", same, replayed);
  return same == replayed ? kDone : kProblemFound;
}

}  // namespace mgcompare
