#include "cli/replay.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/sha256.h"
#include "base/text.h"
#include "cli/environment.h"
#include "cli/report_commands.h"
#include "cli/run_command.h"
#include "discovery/plugin_checksum.h"
#include "discovery/plugin_files.h"
#include "mgcompare/error.h"
#include "process/memory_limit.h"
#include "process/message.h"
#include "process/signals.h"
#include "results/continuation.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

// Directories that the run's config names, if the user trusts it.
std::vector<std::string> paths_in(const Run& run, bool trust_results) {
  std::set<std::string> paths;
  for (const Row& row : run.rows)
    if (trust_results) paths.insert(row.config->plugin_paths.begin(), row.config->plugin_paths.end());
  return {paths.begin(), paths.end()};
}

// The plugins by the names of their strategies. The run says which strategy and which build a trial used, but not where its
// file is: a path in a results file that comes from somebody else would let that file choose the code that is executed.
std::map<std::string, std::string> plugins_for(const Run& run, bool trust_results) {
  std::map<std::string, std::string> files;
  for (const PluginSummary& plugin : find_plugins(paths_in(run, trust_results)))
    if (plugin.problem.empty()) files.emplace(plugin.name, plugin.file);
  return files;
}

// Finds the plugins of the trials. What is wrong with one is said once, however many trials it has.
class Plugins {
 public:
  Plugins(const Run& run, bool trust_results) : files_(plugins_for(run, trust_results)), folders_(plugin_folders(paths_in(run, trust_results))),
                                                trust_results_(trust_results) {}

  // Sets the plugin's file. Returns why the trial cannot be replayed, in a few words; empty if it can.
  std::string choose(TrialKey& trial) {
    const auto found = files_.find(trial.strategy.name);
    if (found == files_.end()) {
      say(fmt::format("{}: no plugin of this name is in the search path ({}); put it back or add its directory to MGCOMPARE_PLUGIN_PATH{}",
                      trial.strategy.name, fmt::join(folders_, ", "),
                      trust_results_ ? "" : ", or use the directories in the run's config with --trust-results"));
      return "its plugin is missing";
    }
    trial.plugin_file = found->second;
    if (trial.plugin_sha256.empty() || checksum_of_plugin(trial.plugin_file) == trial.plugin_sha256) return "";
    say(fmt::format("{}: {} is not the build with which the trial ran; install that build, or run the experiment again",
                    trial.strategy.name, trial.plugin_file));
    return "its plugin is another build";
  }
  const std::vector<std::string>& sentences() const { return sentences_; }

 private:
  void say(const std::string& sentence) {
    if (std::find(sentences_.begin(), sentences_.end(), sentence) == sentences_.end()) sentences_.push_back(sentence);
  }

  std::map<std::string, std::string> files_;
  std::vector<std::string> folders_, sentences_;
  bool trust_results_;
};

// A file of many GiB need not take any space, and all of it would be read for its checksum.
constexpr std::uintmax_t kMostRecordBytes = std::uintmax_t{4} << 30;

// The result says that there was a record; that of an older version does not, but the file is there.
bool has_record(const Row& row, const std::string& record) {
  std::error_code ignored;
  const bool is_there = fs::exists(fs::symlink_status(record, ignored));
  if (is_damaged(row)) return is_there;
  return row.state == RowState::finished && row.result.status == TrialStatus::done && (!row.result.record_sha256.empty() || is_there);
}

// Whether a file of the folder is a whole record: "trial-12".
bool is_record(const fs::path& file) {
  const std::string name = file.filename().string(), stem = "trial-";
  return name.size() > stem.size() && name.starts_with(stem) && name.find_first_not_of("0123456789", stem.size()) == std::string::npos;
}

// Sentences on records of trials that are not replayed; sets `is_whole` to false if a row of the results file must have been removed.
std::vector<std::string> left_out(const Run& run, const std::string& directory, bool& is_whole) {
  std::map<std::string, const Row*> rows;
  for (const Row& row : run.rows) rows.emplace(fs::path(record_of(row.trial, directory)).filename().string(), &row);
  std::vector<std::string> sentences;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(directory) / "records", ignored)) {
    if (!is_record(entry.path())) continue;
    const std::string record = entry.path().string();
    const auto found = rows.find(entry.path().filename().string());
    if (found == rows.end()) {
      is_whole = false;
      sentences.push_back(record + " is the record of no trial in the results file, from which rows may have been removed");
    } else if (!has_record(*found->second, record)) {
      const Row& row = *found->second;
      const std::string_view state = row.state == RowState::finished ? to_string(row.result.status) : to_string(row.state);
      sentences.push_back(fmt::format("{} was left out: its trial is not done but {}", record, state));
    }
  }
  std::sort(sentences.begin(), sentences.end());
  return sentences;
}

// Why the record cannot be replayed, in a few words; empty if it can.
std::string problem_of(const std::string& record, const Row& row) {
  const Result& result = row.result;
  std::error_code ignored;
  if (is_damaged(row)) return "its row in the results file is damaged, so its weights are not known";
  if (!fs::exists(record, ignored)) return record + ", its record, is missing";
  if (!fs::is_regular_file(record, ignored)) return record + ", its record, is not a regular file";
  if (fs::file_size(record, ignored) > kMostRecordBytes)
    return fmt::format("{}, its record, has more than {} GiB, and records have less: it was damaged or replaced", record, kMostRecordBytes >> 30);
  if (result.record_sha256.empty() || sha256_of_file(record) == result.record_sha256) return "";
  return record + ", its record, is not as the trial wrote it: it was damaged or replaced";
}

std::string outcome_of(Supervisor& supervisor, const Run& run, const Trial& trial, const TrialFiles& files, const Row& row, bool& equal) {
  const Result result = supervisor.run(trial, files, [](const Progress&) {});
  equal = result.status == TrialStatus::done && result.weights_hash == row.result.weights_hash;
  if (equal) return "the same weights, bit by bit";
  if (result.status != TrialStatus::done) return fmt::format("{} ({})", result.cause, to_string(result.status));
  static const RunInfo now = [] {
    RunInfo info;
    info.environment = capture_environment({});
    return info;
  }();
  const std::string changed = changed_variable(run.info, now);
  return "other weights than in the run" + (changed.empty() ? "" : ", which was begun with " + changed);
}

}  // namespace

int replay_run(const Command& command) {
  const Run run = read_run(command.target);
  warn_of_taints(run);
  Plugins plugins(run, command.trust_results);
  Supervisor supervisor(trial_settings(command.target));
  int replayed = 0, same = 0;
  for (const Row& row : run.rows) {
    TrialFiles files;
    files.record = record_of(row.trial, command.target);
    files.replay = true;
    if (!has_record(row, files.record)) continue;
    if (interruption() != 0) return exit_code_of(interruption());
    Trial trial{row.trial, *row.config};
    trial.data_fingerprint = run.info.data_fingerprint;
    // What somebody else stored could be more than this machine has.
    double& memory = trial.config.measure.memory_limit;
    if (!command.trust_results) memory = std::min(memory, usual_memory_limit());
    bool equal = false;
    std::string outcome = problem_of(files.record, row);
    if (outcome.empty()) outcome = plugins.choose(trial);
    if (outcome.empty()) outcome = outcome_of(supervisor, run, trial, files, row, equal);
    ++replayed;
    same += equal ? 1 : 0;
    fmt::print("{:<8} {}, seed {}: {}\n", equal ? "ok" : "FAILED", plain(row_name(trial)), trial.seed, plain(outcome));
  }
  bool is_whole = true;
  const std::vector<std::string> others = left_out(run, command.target, is_whole);
  if (replayed == 0 && others.empty())
    throw Error(command.target + " contains no record of a finished trial: only strategies with the trait free pace write one, and only with "
                "`measure: {record: true}`");
  for (const std::string& sentence : plugins.sentences()) fmt::print("{}\n", plain(sentence));
  for (const std::string& sentence : others) fmt::print("{}\n", plain(sentence));
  fmt::print("{} of {} trials ended with the same weights\n", same, replayed);
  return replayed > 0 && same == replayed && is_whole ? kDone : kProblemFound;
}

}  // namespace mgcompare
