#include "results/results_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "results/results_database.h"
#include "results/results_schema.h"
#include "results/row_checksum.h"
#include "results/trial_rows.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Arguments and warnings may not be UTF-8; invalid bytes become U+FFFD.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// These file systems do not share memory across hosts, which WAL needs.
bool on_network(const std::string& directory) {
  constexpr std::array<std::uint32_t, 10> kNetwork = {0x6969,     0x517b,     0xff534d42, 0xfe534d42, 0x01021997,
                                                      0x65735546, 0x00c36400, 0x0bd00bd0, 0x47504653, 0x5346414f};
  struct statfs facts {};
  if (statfs(directory.c_str(), &facts) != 0) return true;
  return std::find(kNetwork.begin(), kNetwork.end(), static_cast<std::uint32_t>(facts.f_type)) != kNetwork.end();
}

// Dotted keys that differ between two configs. Keys that begin with @ are not settings.
std::vector<std::string> differing_keys(const std::string& one, const std::string& other) {
  const auto flatten = [](const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    return json.is_structured() ? json.flatten() : Json::object();
  };
  const Json a = flatten(one), b = flatten(other);
  std::set<std::string> keys;
  const auto collect = [&](const Json& from, const Json& in) {
    for (const auto& [key, value] : from.items()) {
      if (key.find("/@") != std::string::npos || (in.contains(key) && in[key] == value)) continue;
      std::string dotted = key.substr(std::min<std::size_t>(1, key.size()));
      std::replace(dotted.begin(), dotted.end(), '/', '.');
      keys.insert(dotted);
    }
  };
  collect(a, b);
  collect(b, a);
  return {keys.begin(), keys.end()};
}

}  // namespace

struct ResultsStore::State {
  std::string directory;
  std::string path;
  int lock = -1;
  std::optional<Database> database;

  ~State() {
    // Back to one plain file, which opens anywhere, also where nothing may be written.
    try {
      if (database) database->script("PRAGMA journal_mode = DELETE");
    } catch (const DatabaseError&) {
      // A reader is busy: the file stays as it is, complete together with its -wal file.
    }
    database.reset();
    if (lock >= 0) close(lock);
  }

  void take_lock() {
    lock = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0) throw NotWritable(fmt::format("{}: {}", directory, std::strerror(errno)));
    if (flock(lock, LOCK_EX | LOCK_NB) == 0) return;
    if (errno != EWOULDBLOCK)
      throw NotWritable(fmt::format("{}: cannot be locked: {}", directory, std::strerror(errno)));
    std::string holder = "another process";
    try {
      const Database other = open_results_database(directory, Database::Mode::read);
      other.query("SELECT pid, host, started FROM session ORDER BY number DESC LIMIT 1", {}, [&](const Columns& row) {
        holder = fmt::format("process {} on {}, started {}", row.integer(0), row.text(1), row.text(2));
      });
    } catch (const Error&) {
      // The holder has not written its name yet.
    }
    throw InUse(fmt::format("{}: in use by {}: wait until it ends, or give another directory with -o", directory, holder));
  }

  void set(const std::string& key, const std::string& value) const {
    database->run("INSERT INTO run VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", {key, value});
  }

  void write_environment(const RunInfo& info) const {
    database->run("DELETE FROM environment");
    std::int64_t position = 0;
    for (const auto& [key, value] : info.environment) {
      database->run("INSERT INTO environment VALUES (?, ?, ?)", {position++, key, value});
    }
  }

  // Runs `work` in one transaction. It is on disk, in the file that the path leads to, when this returns.
  void commit(const std::function<void()>& work) const {
    translating_errors(path, [&] { database->commit(work); });
    check_in_place(directory, *database);
  }
};

ResultsStore::ResultsStore(const std::string& directory) : state_(std::make_unique<State>()) {
  std::error_code failure;
  fs::create_directories(directory, failure);
  if (failure)
    throw NotWritable(
        fmt::format("{}: cannot be created: {}; give another directory with -o", directory, failure.message()));
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    throw NotWritable(fmt::format("{}: {}; give another directory with -o", directory, std::strerror(errno)));
  }
  state_->directory = directory;
  state_->path = results_database_path(directory);
  state_->take_lock();
  struct stat facts {};
  if (lstat(state_->path.c_str(), &facts) != 0) create_results_database(directory);
  state_->database.emplace(open_results_database(directory, Database::Mode::write));
  translating_errors(state_->path, [&] {
    state_->database->script(
        fmt::format("PRAGMA journal_mode = {}; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;",
                    on_network(directory) ? "DELETE" : "WAL"));
    upgrade_tables(*state_->database);
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    state_->database->run("INSERT INTO session (pid, host, started) VALUES (?, ?, ?)",
                          {std::int64_t{getpid()}, std::string(host.data()), utc_now()});
  });
}

ResultsStore::~ResultsStore() = default;
ResultsStore::ResultsStore(ResultsStore&&) noexcept = default;

bool ResultsStore::empty() const {
  return translating_errors(state_->path, [&] { return state_->database->integer("SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM trial)") == 0; });
}

void ResultsStore::begin(const RunInfo& info, const std::vector<Trial>& plan) {
  if (!empty()) {
    throw InUse(fmt::format("{}: contains a run already: continue it with --resume, or give another directory with -o",
                            state_->directory));
  }
  state_->commit([&] {
    state_->set("schema", kResultSchema);
    state_->set("program_version", info.program_version);
    state_->set("name", info.name);
    state_->set("config_json", info.config_json);
    state_->set("config_hash", info.config_hash);
    state_->set("config_yaml", info.config_yaml);
    if (info.arguments) state_->set("arguments", dump(Json(*info.arguments)));
    state_->set("started", utc_now());
    state_->set("warnings", dump(Json(info.warnings)));
    state_->set("links", dump(Json(info.links)));
    state_->set("taints", dump(Json(info.taints)));
    state_->write_environment(info);
    int position = 0;
    for (const Trial& trial : plan) insert_trial(*state_->database, trial, position++);
    seal_run(*state_->database);
  });
  if (!info.data_fingerprint.empty()) record_data(info.data_name, info.data_origin, info.data_fingerprint);
}

static std::string environment_value(const RunInfo& info, std::string_view key) {
  for (const auto& [name, value] : info.environment)
    if (name == key) return value;
  return "";
}

// The settings that tell two experiments apart. The name is a label, which a config without one takes from its file; that of
// the network goes with its layers; and plugins are compared by their content.
static std::vector<std::string> differing_settings(const RunInfo& one, const std::string& other_config) {
  std::vector<std::string> keys = differing_keys(one.config_json, other_config);
  std::erase_if(keys, [](const std::string& key) {
    return key == "name" || key == "model" || key == "plugins" || key.starts_with("plugins.");
  });
  return keys;
}

static bool is_damaged(const Row& row) { return row.state == RowState::finished && row.result.status == TrialStatus::damaged; }

// Throws InUse unless the plan continues the run: same config, program, machine and trials.
static void check_continues(const Run& run, const RunInfo& info, const std::vector<Trial>& plan,
                            const std::map<int, const Row*>& known) {
  if (const std::vector<std::string> keys = differing_settings(run.info, info.config_json); !keys.empty()) {
    throw InUse(
        fmt::format("{}: contains the run of another config (different: {}): run without --resume, in another directory",
                    run.directory, fmt::join(keys, ", ")));
  }
  // Timings of two machines or two builds must not be mixed.
  if (!run.rows.empty() && run.info.program_version != info.program_version) {
    throw InUse(fmt::format("{}: the run was begun with mgcompare {}, this is {}: run in another directory", run.directory,
                            run.info.program_version, info.program_version));
  }
  for (const char* key : {"cpu", "cpu cores", "cpu devices", "cuda devices", "cuda:0"}) {
    const std::string before = environment_value(run.info, key), now = environment_value(info, key);
    if (!before.empty() && !now.empty() && before != now) {
      throw InUse(fmt::format("{}: the run was begun on another machine ({}: {}, now {}): run in another directory",
                              run.directory, key, before, now));
    }
  }
  for (const Trial& trial : plan) {
    const auto found = known.find(trial.number);
    if (found == known.end() || is_damaged(*found->second)) continue;
    const TrialKey& before = found->second->trial;
    if (row_name(before) != row_name(trial) || before.seed != trial.seed) {
      throw InUse(
          fmt::format("{}: trial {} of this run is `{}` with seed {}, but `{}` with seed {} in this plan (have the "
                      "machine's devices changed?): run in another directory",
                      run.directory, trial.number, row_name(before), before.seed, row_name(trial), trial.seed));
    }
  }
}

// Whether the trial of a row was run by another build of its plugin. Older versions did not record the build.
static bool is_rebuilt(const Row& row, const Trial& trial) {
  return !row.trial.plugin_sha256.empty() && row.trial.plugin_sha256 != trial.plugin_sha256;
}

// Adapts the rows to the plan. Returns the number of finished trials that run again, by the name of their rebuilt plugin.
static std::map<std::string, int> continue_rows(const Database& database, const Run& run, const std::vector<Trial>& plan,
                                                const std::map<int, const Row*>& known) {
  std::map<std::string, int> again;
  for (const Row& row : run.rows)
    if (row.state == RowState::running) reset_trial(database, row.trial.number);
  int position = run.rows.empty() ? 0 : run.rows.back().position + 1;
  for (const Trial& trial : plan) {
    const auto found = known.find(trial.number);
    if (found == known.end()) {
      insert_trial(database, trial, position++);
      continue;
    }
    const Row& row = *found->second;
    if (is_damaged(row)) {
      delete_trial(database, trial.number);
      insert_trial(database, trial, row.position);
    } else if (is_rebuilt(row, trial) || row.state != RowState::finished) {
      again[trial.strategy.name] += row.state == RowState::finished ? 1 : 0;
      if (row.state == RowState::finished) reset_trial(database, trial.number);
      define_trial(database, trial);
    }
  }
  std::erase_if(again, [](const auto& plugin) { return plugin.second == 0; });
  return again;
}

std::vector<std::string> ResultsStore::resume(const RunInfo& info, const std::vector<Trial>& plan) {
  const Run run = read();
  std::map<int, const Row*> known;
  for (const Row& row : run.rows) known[row.trial.number] = &row;
  check_continues(run, info, plan, known);
  std::vector<std::string> notes;
  state_->commit([&] {
    for (const auto& [name, count] : continue_rows(*state_->database, run, plan, known)) {
      notes.push_back(fmt::format("{} finished trial{} of {} run{} again, because the plugin has been built again since", count,
                                  count == 1 ? "" : "s", name, count == 1 ? "s" : ""));
    }
    state_->set("program_version", info.program_version);
    state_->set("links", dump(Json(info.links)));
    // Earlier results stay doubtful after the machine has been repaired.
    std::vector<std::string> taints = run.info.taints;
    for (const std::string& taint : info.taints)
      if (std::find(taints.begin(), taints.end(), taint) == taints.end()) taints.push_back(taint);
    state_->set("taints", dump(Json(taints)));
    state_->write_environment(info);
    seal_run(*state_->database);
  });
  if (!info.data_fingerprint.empty()) record_data(info.data_name, info.data_origin, info.data_fingerprint);
  return notes;
}

void ResultsStore::record_data(const std::string& name, const std::string& origin, const std::string& fingerprint) {
  const RunInfo info = translating_errors(state_->path, [&] { return read_info(*state_->database); });
  if (!info.data_fingerprint.empty() && info.data_fingerprint != fingerprint) {
    throw InUse(fmt::format("{}: this run used {} ({}), but the data are now {} ({}): results of different data are not mixed; "
                            "run in another directory",
                            state_->directory, info.data_name, info.data_origin, name, origin));
  }
  state_->commit([&] {
    state_->set("data_name", name);
    state_->set("data_origin", origin);
    state_->set("data_fingerprint", fingerprint);
    seal_run(*state_->database);
  });
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

std::vector<int> ResultsStore::unfinished(bool retry_failed) const {
  std::vector<int> numbers;
  for (const Row& row : read().rows)
    if (row.state != RowState::finished || is_repeated(row.result.status, retry_failed)) numbers.push_back(row.trial.number);
  return numbers;
}

void ResultsStore::start(const Trial& trial, std::int64_t pid) {
  state_->commit([&] { start_trial(*state_->database, trial.number, pid); });
}

void ResultsStore::add(const Trial& trial, const Result& result) {
  state_->commit([&] { finish_trial(*state_->database, trial.number, result); });
}

Run ResultsStore::read() const {
  check_in_place(state_->directory, *state_->database);
  return read_whole_run(state_->directory, *state_->database);
}

Run read_run(const std::string& directory) {
  return read_whole_run(directory, open_results_database(directory, Database::Mode::read));
}

bool has_run(const std::string& directory) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(results_database_path(directory), ignored));
}

std::string newest_run(const std::string& folder, const std::string& config_json) {
  std::string newest, newest_started;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string directory = entry.path().string();
    try {
      if (!has_run(directory)) continue;
      const RunInfo info = read_info(open_results_database(directory, Database::Mode::read));
      if (info.started.empty() || info.started < newest_started || !differing_settings(info, config_json).empty()) continue;
      newest = directory;
      newest_started = info.started;
    } catch (const Error&) {
      continue;
    }
  }
  return newest;
}

}  // namespace mgcompare
