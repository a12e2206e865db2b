#include "cli/run_command.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "base/directory.h"
#include "base/error_text.h"
#include "base/print.h"
#include "base/number_text.h"
#include "base/text.h"
#include "cli/builds.h"
#include "cli/data_messages.h"
#include "cli/directory.h"
#include "cli/environment.h"
#include "cli/link_check.h"
#include "config/idle_settings.h"
#include "config/lone_seed.h"
#include "discovery/manifest.h"
#include "discovery/plugin_checksum.h"
#include "process/message.h"
#include "process/signals.h"
#include "results/continuation.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

constexpr double kDataSeconds = 600;        // for a slow download; a stalled one is given up much earlier

std::vector<std::string> arguments_of(const Command& command) {
  std::vector<std::string> words;
  for (const std::string& override : command.overrides) words.insert(words.end(), {"--set", override});
  if (!command.data.empty()) words.insert(words.end(), {"--data", command.data});
  return words;
}

RunInfo info_of(const Plan& plan) {
  RunInfo info;
  info.program_version = MGCOMPARE_VERSION;
  info.name = plan.config.name;
  info.config_json = nlohmann::json(plan.config).dump();
  info.config_hash = config_hash(plan.config);
  info.config_yaml = resolved_yaml(plan.config);
  info.builds = current_builds();
  info.environment = capture_environment(plan.platforms);
  info.warnings = plan.warnings;
  return info;
}

// "first (1), second (6)": the labels of the strategies and their numbers of trials.
std::string contents(const std::vector<Trial>& trials) {
  std::vector<std::pair<std::string, int>> counts;
  for (const Trial& trial : trials) {
    const auto known = std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == trial.strategy.label; });
    if (known == counts.end()) {
      counts.emplace_back(trial.strategy.label, 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> texts;
  std::sort(counts.begin(), counts.end());
  for (const auto& [label, count] : counts) texts.push_back(fmt::format("{} ({})", label, count));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string checkpoint_of(const Trial& trial, const std::string& directory) {
  return fmt::format("{}/checkpoints/trial-{}", directory, trial.number);
}

// With its whole path, because a plugin may change the working directory of a worker, and without links, because they may lead elsewhere
// before a worker writes. One that JSON cannot hold stays as it was given.
std::string for_workers(const std::string& directory) {
  std::error_code error;
  const std::string whole = std::filesystem::canonical(directory, error).string();
  return error || !is_utf8(whole) ? directory : whole;
}

// The files of the trial. Creates their directories.
TrialFiles files_of(const Trial& trial, const std::string& run, const std::string& given, const Command& command) {
  const std::string directory = for_workers(given);
  TrialFiles files = data_of(command);
  files.run = run;
  if (trial.config.checkpoint_epochs > 0) {
    files.checkpoint = checkpoint_of(trial, directory);
    files.resume = true;
  }
  if (trial.config.measure.record) files.record = record_of(trial, directory);
  // Of several hosts, none has the steps of all ranks.
  if (command.trace && trial.hosts == 1) files.trace = fmt::format("{}/traces/trial-{}.json", directory, trial.number);
  try {
    for (const std::string* file : {&files.checkpoint, &files.record, &files.trace})
      if (!file->empty()) Directory::subfolder_of(*file);
  } catch (const FileError& error) {
    throw NotWritable(fmt::format("{}; trials that were printed as finished are kept, and --resume continues with them if there are any", error.what()));
  }
  return files;
}

// Why the trial would not run with the code of the run, a sentence; empty if it would.
std::string replaced_code(const Trial& trial, const ResultsStore& results) {
  const std::string change = build_change(results.builds());
  return change.empty() ? plugin_change(trial) : change;
}

}  // namespace

Plan filtered(Plan plan, const Command& command) {
  if (command.only.empty()) return plan;
  try {
    plan.trials = only(plan, command.only);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  return plan;
}

Plan with_checksums(Plan plan) {
  std::map<std::string, std::string> known;
  for (Trial& trial : plan.trials) {
    const auto [found, is_new] = known.try_emplace(trial.plugin_file);
    if (is_new) found->second = checksum_of_plugin(trial.plugin_file);
    trial.plugin_sha256 = found->second;
  }
  return plan;
}

void add_remarks(Plan& plan, const Config& config, const ProbeClient& probe, const Command& command) {
  plan.warnings.insert(plan.warnings.end(), probe.data_remarks().begin(), probe.data_remarks().end());
  if (const std::string remark = lone_seed_remark(config, command.overrides); !remark.empty()) plan.warnings.push_back(remark);
  for (const std::string& remark : idle_setting_remarks(config, command.overrides)) plan.warnings.push_back(remark);
}

int print_plan(const Plan& plan) {
  fmt::print("{}", describe(plan));
  return kDone;
}

std::string directory_of(const Command& command, const Config& config) {
  // Workers get the names of checkpoints and records as JSON.
  if (!is_utf8(command.directory))
    throw UsageError(fmt::format("{}: the name of the output directory is not UTF-8; give another one with -o", plain(command.directory)));
  if (!command.resume) return command.directory.empty() ? new_run_directory(config_slug(config.name)) : command.directory;
  if (!command.directory.empty()) {
    if (has_run(command.directory)) return command.directory;
    std::error_code problem;
    static_cast<void>(fs::symlink_status(fs::path(command.directory) / kResultsFile, problem));
    if (problem == std::errc::permission_denied)
      throw Error(fmt::format("{}: cannot be read: {}; check the permissions of the directory", plain(command.directory), error_text(problem.value())));
    throw UsageError(fmt::format("{}: there is no run in this directory, so there is nothing to resume; omit --resume to start "
                                 "one, or correct -o",
                                 command.directory));
  }
  const NewestRun newest = newest_run(kRunsFolder, nlohmann::json(config).dump());
  for (const std::string& problem : newest.doubtful) print_stderr("possibly the newest run, but damaged: {}\n", problem);
  if (newest.directory.empty()) {
    throw UsageError(fmt::format("no run in {}/ has this config, so there is nothing to resume; omit --resume, or give "
                                 "the directory with -o",
                                 kRunsFolder));
  }
  return newest.directory;
}

void begin_run(ResultsStore& results, const Plan& plan, const FoundData& data, const std::vector<LinkMeasurements>& links,
               const Command& command) {
  RunInfo info = info_of(plan);
  info.arguments = arguments_of(command);
  info.links = links;
  info.taints = taints_of(plan, links);
  for (const std::string& taint : info.taints) print_stderr("tainted: {}\n", taint);
  info.data_name = data.name;
  info.data_origin = data.origin;
  info.data_fingerprint = data.fingerprint;
  info.data_remark = data.remark;
  if (command.resume && !results.empty()) {
    // Its further blocks are in no plan yet.
    if (command.until_decided) check_variables(results.read(), info);
    for (const std::string& note : results.resume(info, plan.trials, !command.only.empty())) print_stderr("{}\n", note);
  } else {
    results.begin(info, plan.trials);
  }
}

SupervisorSettings trial_settings(const std::string& directory) {
  SupervisorSettings settings = supervisor_settings((fs::path(directory) / kWorkerLog).string());
  settings.seconds_to_prepare = kDataSeconds;
  return settings;
}

FoundData find_data(Supervisor& supervisor, const Plan& plan, const Command& command) {
  DataMessages messages(command);
  const Reply reply = supervisor.ask("data", {{"config", plan.config}, {"data_folder", command.data}}, kDataSeconds,
                                     {{}, [&](const nlohmann::json& note) { messages.show(note); }}, kDataSeconds);
  const nlohmann::json& found = reply.require("the data cannot be read", "run the command again");
  const auto text = [&](const char* key) { return found.at(key).get<std::string>(); };
  if (const auto samples = found.at("training_set").get<std::size_t>(); samples != plan.data.train_samples)
    throw Error(fmt::format("the data has {} training samples, but {} were counted before: if they did not change, unpack their files, "
                            "and run the command again", samples, plan.data.train_samples));
  messages.show({{"text", fmt::format("data: {} ({}), {}, {} training and {} {} samples", text("name"), text("origin"),
                                    form_text(plan.data.spec), thousands(found.at("train_samples").get<double>()),
                                    thousands(found.at("test_samples").get<double>()),
                                    plan.config.data.validation_samples > 0 ? "validation" : "test")}});
  if (const std::string remark = text("remark"); !remark.empty()) print_stderr("warning: {}\n", remark);
  return {text("name"), text("origin"), text("fingerprint"), text("remark")};
}

std::vector<Trial> trials_to_run(const ResultsStore& results, const Plan& plan, const FoundData& data, const Command& command) {
  const std::vector<int> unfinished = results.unfinished(command.resume);
  const std::set<int> numbers(unfinished.begin(), unfinished.end());
  // Their definitions are those of the plan. The file only says which are left: what it contains is not trusted.
  std::vector<Trial> trials;
  for (const Trial& trial : plan.trials)
    if (numbers.contains(trial.number)) trials.push_back(trial);
  // Each new worker loads the data again; if they are different, the trial fails.
  for (Trial& trial : trials) trial.data_fingerprint = data.fingerprint;
  return trials;
}

void announce(const Plan& plan, const std::vector<Trial>& trials, HostTrials& hosts, const std::string& directory, const Command& command) {
  for (const std::string& warning : plan.warnings) print_stderr("warning: {}\n", warning);
  for (const std::string& warning : hosts.take_warnings()) print_stderr("warning: {}\n", warning);
  if (command.quiet) return;
  if (plan.config.cut_down_for_cpu) {
    print_stderr("no GPU: the `when_cpu:` block of the config applies ({} epoch{}{})\n",
               plan.config.epochs, plan.config.epochs == 1 ? "" : "s",
               plan.config.data.train_samples == 0
                   ? ""
                   : fmt::format(", {} training samples",
                                 thousands(plan.config.data.train_samples)));
  }
  if (trials.empty()) return print_stderr("no trials left to run; writing the reports of {} again\n", directory);
  if (command.resume && trials.size() < plan.trials.size())
    print_stderr("{} of {} trials have their results already\n", plan.trials.size() - trials.size(), plan.trials.size());
  std::set<std::uint64_t> seeds;
  for (const Trial& trial : trials) seeds.insert(trial.seed);
  print_stderr("{} trial{} with seed{} {}: {}\nabout {} (rough estimate); results in {}\n", trials.size(), trials.size() == 1 ? "" : "s",
               seeds.size() == 1 ? "" : "s", fmt::join(seeds, ", "), contents(trials), duration_text(estimate_seconds(trials, plan.data)), directory);
}

ProgressDisplay make_display(const Plan& plan, const std::vector<Trial>& trials, const Command& command) {
  return ProgressDisplay(stderr, terminal_of(2, command.color), command.quiet, trials,
                         [data = plan.data](const Trial& trial) { return estimate_seconds({trial}, data); });
}

std::string record_of(const TrialKey& trial, const std::string& directory) {
  return fmt::format("{}/records/trial-{}", directory, trial.number);
}

void run_trial(ResultsStore& results, Supervisor& supervisor, HostTrials& hosts, DeviceAvailability& availability, FittingBatch& fitting, const Trial& trial,
               const std::string& directory, const Command& command, ProgressDisplay& display) {
  results.start(trial);
  display.begin(trial);
  Result result;
  TrialFiles files;
  std::vector<std::string> warnings;
  std::string fallen;  // message on devices that stopped answering
  if (!trial.unavailable.empty()) {
    result.status = TrialStatus::unavailable;
    result.cause = trial.unavailable;
  } else if (const std::string cause = trial.hosts > 1 ? "" : availability.lost(trial); !cause.empty()) {
    result.status = TrialStatus::device_lost;
    result.cause = cause;
  } else if (const std::string change = replaced_code(trial, results); !change.empty()) {
    // The worker would say so too, and the trial would be repeated in a fresh one, which changes nothing.
    result.status = TrialStatus::failed;
    result.cause = plain(change);
  } else if (trial.hosts > 1) {
    files = files_of(trial, results.identity(), directory, command);
    result = hosts.run(trial, files, [&](const Progress& progress) { display.update(progress); });
  } else {
    files = files_of(trial, results.identity(), directory, command);
    spdlog::debug("trial {}: {} on {} {} device(s), {} rank(s) each, global batch {}, seed {}, plugin {}", trial.number,
                  trial.strategy.label, trial.devices, to_string(trial.device_kind), trial.ranks_per_device,
                  trial.global_batch, trial.seed, trial.plugin_file);
    result = supervisor.run(availability.placed(trial), files, [&](const Progress& progress) { display.update(progress); });
    warnings = supervisor.take_warnings();
    if (const std::string note = availability.note(trial); !note.empty()) result.notes.push_back(note);
    fallen = availability.check(supervisor, trial, result);
    fitting.add_to(result, trial, [&](const Trial& smaller) {
      return attempt_in_worker(supervisor, availability.placed(smaller), command.data);
    });
  }
  for (const std::string& line : placement_lines(result.placement)) spdlog::debug("trial {}: {}", trial.number, line);
  results.add(trial, result);
  display.end(trial, result);
  for (const std::string& warning : warnings) print_stderr("warning: {}\n", warning);
  for (const std::string& warning : hosts.take_warnings()) print_stderr("warning: {}\n", warning);
  if (!fallen.empty()) print_stderr("{}\n", fallen);
  // Not before the result is recorded: a run that is killed in between continues from the checkpoint.
  std::error_code ignored;
  if (result.status == TrialStatus::done && !files.checkpoint.empty()) fs::remove_all(files.checkpoint, ignored);
}

Style print_style(const Command& command) {
  const Terminal terminal = terminal_of(1, command.color);
  return {terminal.color, terminal.utf8, terminal.columns};
}

void print_summary(const Overview& overview, const std::vector<std::string>& files, const Command& command) {
  fmt::print("{}\n", closing_summary(overview, print_style(command)));
  fmt::print("{}/{}\n", overview.parts.front().run->directory, kResultsFile);
  for (const std::string& file : files) fmt::print("{}\n", file);
}

int exit_code_of(const Run& run) {
  const bool is_complete = std::all_of(run.rows.begin(), run.rows.end(), [](const Row& row) {
    // These may fail without making the run incomplete: references and rehearsals, which are no rows of the comparison, and backends that
    // this machine lacks.
    const bool can_fail = ((row.trial.reference || row.trial.rehearsal) && row.result.status != TrialStatus::interrupted) ||
                          (is_backend(row.trial.plugin_file) && row.result.status == TrialStatus::unavailable);
    return row.state == RowState::finished && (row.result.status == TrialStatus::done || can_fail);
  });
  return is_complete ? kDone : kSomeFailed;
}

TrialFiles data_of(const Command& command) {
  TrialFiles files;
  files.data_folder = command.data;
  files.send_data = command.send_data;
  return files;
}

}  // namespace mgcompare
