#include "results/results_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_text.h"
#include "base/random_token.h"
#include "results/continuation.h"
#include "results/results_database.h"
#include "results/row_checksum.h"
#include "results/trial_rows.h"
#include "results/writing_session.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr char kRestored[] = "another program changed the row of this trial in results.sqlite before the trial was finished: the row was "
                             "written again from the plan";

void set(const Database& database, const std::string& key, const std::string& value) {
  database.run("INSERT INTO run VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", {key, value});
}

void write_environment(const Database& database, const std::vector<std::pair<std::string, std::string>>& environment) {
  database.run("DELETE FROM environment");
  std::int64_t position = 0;
  for (const auto& [key, value] : environment) database.run("INSERT INTO environment VALUES (?, ?, ?)", {position++, key, value});
}

// That of a session which continues a run. Of the load before the sessions the highest stays, since it makes all their figures doubtful.
std::vector<std::pair<std::string, std::string>> continued(const RunInfo& before, const RunInfo& now) {
  std::vector<std::pair<std::string, std::string>> all = now.environment;
  const auto is_load = [](const auto& fact) { return fact.first == kLoadBefore; };
  const auto former = std::find_if(before.environment.begin(), before.environment.end(), is_load);
  const auto load = std::find_if(all.begin(), all.end(), is_load);
  if (former != before.environment.end() && load != all.end() && std::atof(former->second.c_str()) > std::atof(load->second.c_str())) load->second = former->second;
  return all;
}

}  // namespace

ResultsStore::ResultsStore(const std::string& directory) : session_(std::make_unique<WritingSession>(directory)) {}
ResultsStore::~ResultsStore() = default;
ResultsStore::ResultsStore(ResultsStore&&) noexcept = default;

bool ResultsStore::empty() const {
  return translating_errors(session_->path(), [&] {
    return session_->database().integer("SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM trial)") == 0;
  });
}

std::string ResultsStore::identity() const {
  return translating_errors(session_->path(), [&] {
    return session_->database().text(fmt::format("SELECT coalesce((SELECT value FROM run WHERE key = '{}'), '')", kRunIdentity));
  });
}

std::set<int> ResultsStore::blocks() const {
  return translating_errors(session_->path(), [&] {
    std::set<int> numbers;
    session_->database().query("SELECT DISTINCT block FROM trial WHERE block BETWEEN 1 AND 1000000", {},
                               [&](const Columns& row) { numbers.insert(static_cast<int>(row.integer(0))); });
    return numbers;
  });
}

const std::map<std::string, std::string>& ResultsStore::builds() const { return session_->builds(); }

void ResultsStore::begin(const RunInfo& info, const std::vector<Trial>& plan) {
  if (!empty()) {
    throw InUse(fmt::format("{}: contains a run already: continue it with --resume, or give another directory with -o",
                            session_->directory()));
  }
  session_->commit([&] {
    set(session_->database(), "schema", kResultSchema);
    set(session_->database(), kRunIdentity, random_token());
    set(session_->database(), "program_version", info.program_version);
    set(session_->database(), "builds", json_text(Json(info.builds)));
    set(session_->database(), "name", info.name);
    set(session_->database(), "config_json", info.config_json);
    set(session_->database(), "config_hash", info.config_hash);
    set(session_->database(), "config_yaml", info.config_yaml);
    if (info.arguments) set(session_->database(), "arguments", json_text(Json(*info.arguments)));
    set(session_->database(), "started", utc_now());
    set(session_->database(), "warnings", json_text(Json(info.warnings)));
    set(session_->database(), "links", json_text(Json(info.links)));
    set(session_->database(), "taints", json_text(Json(info.taints)));
    write_environment(session_->database(), info.environment);
    int position = 0;
    for (const Trial& trial : plan) {
      insert_trial(session_->database(), trial, position++);
      session_->planned().insert(trial.number);
    }
    seal_run(session_->database());
  });
  session_->builds() = info.builds;
  // The directory may have had an empty file. From now on it has nothing that this session did not write.
  session_->database().ignore_interruptions();
  if (!info.data_fingerprint.empty()) record_data(info.data_name, info.data_origin, info.data_fingerprint, info.data_remark);
}

// Why the trial of a row would be another one now, the rest of a sentence: another build of its plugin would run it, other versions of
// its framework, or anything at all. Older versions of the program did not record them. Empty if it would not.
static std::string change_since(const Row& row, const Trial& trial) {
  if (!row.trial.plugin_sha256.empty() && row.trial.plugin_sha256 != trial.plugin_sha256) return "the plugin has changed since";
  if (!row.result.versions.empty() && !trial.versions.empty() && row.result.versions != trial.versions)
    return "its framework has other versions now";
  // A strategy that cannot be rehearsed finds out when it trains, and would again.
  if (row.result.status == TrialStatus::unavailable && trial.unavailable.empty() && !trial.rehearsal) return "it was unavailable and is not now";
  return "";
}

// Whether a trial that ended like this runs again when its run is resumed.
static bool is_repeated(TrialStatus status, bool retry_failed) {
  switch (status) {
    case TrialStatus::interrupted:
    case TrialStatus::damaged: return true;
    case TrialStatus::failed:
    case TrialStatus::crashed:
    case TrialStatus::timeout:
    case TrialStatus::device_lost: return retry_failed;
    default: return false;
  }
}

// Whether a session that continues the run trains this trial.
static bool runs_now(const std::map<int, const Row*>& known, const Trial& trial) {
  const auto found = known.find(trial.number);
  if (found == known.end()) return true;
  const Row& row = *found->second;
  return row.state != RowState::finished || is_damaged(row) || is_repeated(row.result.status, true) || !change_since(row, trial).empty();
}

// Adapts the rows to the plan. Rows that do not fit their checksums are replaced, also if they changed since `run` was read. Returns the
// number of finished trials that run again, by the name of their plugin and change_since().
static std::map<std::pair<std::string, std::string>, int> continue_rows(const Database& database, const Run& run, const std::vector<Trial>& plan,
                                                const std::map<int, const Row*>& known) {
  std::map<std::pair<std::string, std::string>, int> again;
  std::set<std::int64_t> intact;
  for (const std::int64_t number : intact_trials(database)) intact.insert(number);
  for (const Row& row : run.rows)
    if (row.state == RowState::running && intact.contains(row.trial.number)) reset_trial(database, row.trial.number);
  int position = run.rows.empty() ? 0 : run.rows.back().position + 1;
  for (const Trial& trial : plan) {
    const auto found = known.find(trial.number);
    if (found == known.end()) {
      // In a damaged file there may be rows of a trial that is gone.
      delete_trial(database, trial.number);
      insert_trial(database, trial, position++);
      continue;
    }
    const Row& row = *found->second;
    const std::string change = change_since(row, trial);
    if (is_damaged(row) || !intact.contains(trial.number)) {
      delete_trial(database, trial.number);
      insert_trial(database, trial, row.position);
    } else if (!change.empty() || row.state != RowState::finished) {
      again[{trial.strategy.name, change}] += row.state == RowState::finished ? 1 : 0;
      if (row.state == RowState::finished) reset_trial(database, trial.number);
      define_trial(database, trial);
    }
  }
  std::erase_if(again, [](const auto& plugin) { return plugin.second == 0; });
  return again;
}

// Removes damaged rows that no trial of the plan can replace, such as a copy under another number. Returns their numbers.
static std::vector<int> remove_strangers(const Database& database, const Run& run, const std::vector<Trial>& plan) {
  std::set<int> numbers;
  for (const Trial& trial : plan) numbers.insert(trial.number);
  std::vector<int> removed;
  for (const Row& row : run.rows) {
    if (!is_damaged(row) || numbers.contains(row.trial.number)) continue;
    delete_trial(database, row.trial.number);
    removed.push_back(row.trial.number);
  }
  return removed;
}

std::vector<std::string> ResultsStore::resume(const RunInfo& info, const std::vector<Trial>& plan, bool is_part) {
  const Run run = session_->read();
  std::map<int, const Row*> known;
  for (const Row& row : run.rows) known[row.trial.number] = &row;
  check_continues(run, info, plan, known);
  // A session that trains nothing says nothing about the machine of the results.
  const bool trains = std::any_of(plan.begin(), plan.end(), [&](const Trial& trial) { return runs_now(known, trial); });
  if (trains) check_variables(run, info);
  for (const Trial& trial : plan) session_->planned().insert(trial.number);
  session_->builds() = info.builds;
  std::vector<std::string> notes;
  session_->commit([&] {
    // Before anything is written: it says whether another program changed the properties.
    std::vector<std::string> taints = read_info(session_->database()).taints;
    for (const auto& [plugin, count] : continue_rows(session_->database(), run, plan, known)) {
      notes.push_back(fmt::format("{} finished trial{} of {} run{} again, because {}", count, count == 1 ? "" : "s", plugin.first,
                                  count == 1 ? "s" : "", plugin.second));
    }
    for (const int number : is_part ? std::vector<int>() : remove_strangers(session_->database(), run, plan)) {
      notes.push_back(fmt::format("the damaged row {} of {} was removed, because the experiment has no trial of this number", number,
                                  session_->path()));
    }
    set(session_->database(), "program_version", info.program_version);
    // With the price of this session.
    set(session_->database(), "config_json", info.config_json);
    set(session_->database(), "config_yaml", info.config_yaml);
    // Earlier results stay doubtful after the machine has been repaired.
    for (const std::string& taint : info.taints)
      if (std::find(taints.begin(), taints.end(), taint) == taints.end()) taints.push_back(taint);
    set(session_->database(), "taints", json_text(Json(taints)));
    if (trains) {
      if (!info.builds.empty()) set(session_->database(), "builds", json_text(Json(info.builds)));
      set(session_->database(), "links", json_text(Json(info.links)));
      write_environment(session_->database(), continued(run.info, info));
    }
    seal_run(session_->database());
  });
  if (!info.data_fingerprint.empty()) record_data(info.data_name, info.data_origin, info.data_fingerprint, info.data_remark);
  return notes;
}

void ResultsStore::extend(const std::vector<Trial>& trials) {
  session_->commit([&] {
    int position = static_cast<int>(session_->database().integer("SELECT coalesce(max(position), -1) + 1 FROM trial"));
    for (const Trial& trial : trials) {
      insert_trial(session_->database(), trial, position++);
      session_->planned().insert(trial.number);
    }
    seal_run(session_->database());
  });
}

void ResultsStore::record_data(const std::string& name, const std::string& origin, const std::string& fingerprint,
                               const std::string& remark) {
  session_->commit([&] {
    const RunInfo info = read_info(session_->database());
    if (!info.data_fingerprint.empty() && info.data_fingerprint != fingerprint) {
      const bool is_same_place = info.data_name == name && info.data_origin == origin;
      const std::string change = is_same_place ? fmt::format("the samples of {} ({}) are not those that this run began with", name, origin)
                                               : fmt::format("this run used {} ({}), but the data are now {} ({})", info.data_name, info.data_origin, name, origin);
      throw InUse(fmt::format("{}: {}: results of different data are not mixed; run in another directory", session_->directory(), change));
    }
    set(session_->database(), "data_name", name);
    set(session_->database(), "data_origin", origin);
    set(session_->database(), "data_fingerprint", fingerprint);
    set(session_->database(), "data_remark", remark);
    // With the one that another program changed the properties: from now on they have a fitting checksum.
    set(session_->database(), "taints", json_text(Json(info.taints)));
    seal_run(session_->database());
  });
}

std::vector<int> ResultsStore::unfinished(bool retry_failed) const {
  std::vector<int> numbers;
  for (const Row& row : session_->read().rows)
    if (row.state != RowState::finished || is_repeated(row.result.status, retry_failed)) numbers.push_back(row.trial.number);
  return numbers;
}

// Writes the row again if another program changed or removed it.
static void restore(WritingSession& session, const Trial& trial) {
  if (session.planned().contains(trial.number) && restore_trial(session.database(), trial)) session.restored().insert(trial.number);
}

void ResultsStore::start(const Trial& trial, std::int64_t pid) {
  session_->database().ignore_interruptions();
  session_->check_path();
  session_->commit([&] {
    restore(*session_, trial);
    start_trial(session_->database(), trial.number, pid);
  });
}

void ResultsStore::add(const Trial& trial, const Result& result) {
  session_->database().ignore_interruptions();
  session_->commit([&] {
    restore(*session_, trial);
    if (!session_->restored().contains(trial.number))
      return finish_trial(session_->database(), trial.number, result);
    Result noted = result;
    noted.notes.emplace_back(kRestored);
    finish_trial(session_->database(), trial.number, noted);
  });
}

Run ResultsStore::read() const {
  session_->database().ignore_interruptions();
  return session_->read();
}

void ResultsStore::close(const Run& run) {
  const std::string directory = session_->directory(), path = session_->path();
  session_.reset();
  try {
    const Run kept = read_whole_run(directory, open_results_database(directory, Database::Mode::read_own));
    const auto alike = [](const Row& a, const Row& b) {
      return a.trial.number == b.trial.number && a.state == b.state && a.result.status == b.result.status;
    };
    if (std::equal(run.rows.begin(), run.rows.end(), kept.rows.begin(), kept.rows.end(), alike)) return;
  } catch (const BadResults&) {
    // Said below.
  }
  throw NotWritable(fmt::format("{}: was changed by another program while the run wrote to it, so it does not hold all results; the "
                                "reports do: keep results.json, and run again in another directory with -o",
                                path));
}

Run read_run(const std::string& directory) {
  return read_whole_run(directory, open_results_database(directory, Database::Mode::read));
}

bool has_run(const std::string& directory) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(results_database_path(directory), ignored));
}

NewestRun newest_run(const std::string& folder, const std::string& config_json) {
  NewestRun newest;
  std::string newest_started;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string directory = entry.path().string();
    try {
      if (!has_run(directory)) continue;
      const Database database = open_results_database(directory, Database::Mode::read);
      const RunInfo info = read_info(database);
      if (info.started.empty() || !is_run_intact(database))
        newest.doubtful.push_back(fmt::format("{}: the record of the run is missing or was changed by another program", directory));
      if (info.started.empty() || info.started < newest_started || !differing_settings(info, config_json).empty()) continue;
      newest.directory = directory;
      newest_started = info.started;
    } catch (const ReadingStopped&) {
      throw;
    } catch (const std::exception& error) {
      newest.doubtful.push_back(error.what());
    }
  }
  std::sort(newest.doubtful.begin(), newest.doubtful.end());
  return newest;
}

}  // namespace mgcompare
