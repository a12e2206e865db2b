#include "results/results_database.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"

namespace mgcompare {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kApplicationId = 0x6d676331;  // "mgc1"
constexpr std::int64_t kVersion = 3;

constexpr char kTables[] = R"(
CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE environment (position INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL) STRICT;
CREATE TABLE session (
  number INTEGER PRIMARY KEY, pid INTEGER NOT NULL, host TEXT NOT NULL, started TEXT NOT NULL) STRICT;
CREATE TABLE trial (
  number INTEGER PRIMARY KEY, position INTEGER NOT NULL UNIQUE, block INTEGER NOT NULL, row TEXT NOT NULL,
  strategy TEXT NOT NULL, label TEXT NOT NULL, variant TEXT NOT NULL, device_kind TEXT NOT NULL,
  devices INTEGER NOT NULL, ranks_per_device INTEGER NOT NULL, scaling TEXT NOT NULL, global_batch INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'running', 'finished')),
  attempt INTEGER NOT NULL DEFAULT 0, pid INTEGER, started TEXT, finished TEXT, sequence INTEGER UNIQUE,
  status TEXT, cause TEXT, accuracy REAL, samples_per_second REAL, seconds_training REAL, seconds_to_target REAL,
  seconds_setup REAL, seconds_warm_up REAL, seconds_evaluation REAL, seconds_checkpoint REAL, seconds_worker_start REAL,
  step_seconds_median REAL, harness_share REAL, samples INTEGER, steps INTEGER, updates INTEGER, bytes_per_step REAL,
  peak_memory_bytes INTEGER, parameters INTEGER, weights_hash TEXT,
  trial_json TEXT NOT NULL, result_json TEXT) STRICT;
CREATE TABLE epoch (
  trial INTEGER NOT NULL REFERENCES trial, epoch INTEGER NOT NULL, loss REAL, train_accuracy REAL, accuracy REAL,
  seconds_training REAL, seconds_evaluation REAL, PRIMARY KEY (trial, epoch)) STRICT;
CREATE TABLE rank (
  trial INTEGER NOT NULL REFERENCES trial, rank INTEGER NOT NULL, seconds_compute REAL, seconds_exchange REAL,
  seconds_waiting REAL, seconds_harness REAL, PRIMARY KEY (trial, rank)) STRICT;
CREATE TABLE metric (
  trial INTEGER NOT NULL REFERENCES trial, rank INTEGER NOT NULL, name TEXT NOT NULL, mean REAL, least REAL, most REAL,
  last REAL, count INTEGER, PRIMARY KEY (trial, rank, name)) STRICT;
)";

// Since version 2.
constexpr char kWindowTable[] = R"(
CREATE TABLE window (
  trial INTEGER NOT NULL REFERENCES trial, window INTEGER NOT NULL, steps INTEGER, samples REAL, seconds REAL,
  samples_per_second REAL, PRIMARY KEY (trial, window)) STRICT;
)";

// Since version 3. Null in trials that an older version wrote.
constexpr char kRankColumns[] = R"(
ALTER TABLE rank ADD COLUMN seconds_optimizer REAL;
ALTER TABLE rank ADD COLUMN seconds_input REAL;
ALTER TABLE rank ADD COLUMN seconds_strategy REAL;
ALTER TABLE rank ADD COLUMN seconds_overlapped REAL;
)";

// Errors of a config and messages of SQLite on damaged pages have several lines.
std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// The message without the name of the exception of the JSON library.
std::string reason_of(const std::exception& error) {
  std::string text = error.what();
  const std::size_t name = text.find("[json.exception."), end = text.find("] ", name);
  return end == std::string::npos ? text : text.erase(name, end + 2 - name);
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw BadResults(
      fmt::format("{}: {}; the file is not changed: name another directory, or move the file away", path, on_one_line(why)));
}

// Throws BadResults unless the file is an intact database of this program in a known version.
void check(const std::string& path, const Database& database) {
  if (database.integer("PRAGMA application_id") != kApplicationId) refuse(path, "not a results file of mgcompare");
  const std::int64_t version = database.integer("PRAGMA user_version");
  if (version > kVersion) {
    refuse(path,
           fmt::format("written by a newer mgcompare (format {}, this program reads up to {}); update the program",
                       version, kVersion));
  }
  const std::string health = database.text("PRAGMA quick_check(1)");
  if (health != "ok") refuse(path, fmt::format("damaged ({}); `sqlite3 FILE .recover` may save what is in it", health));
}

// Trials of one variant have equal configs. Parsing them would take most of the time and memory, so each is parsed once.
class Configs {
 public:
  // Returns the config in a trial's JSON, and removes it from the text if it is known already.
  std::shared_ptr<const Config> take_from(std::string& trial) {
    const std::size_t at = trial.find(kKey);
    for (const auto& [text, config] : known_) {
      if (at == std::string::npos || trial.compare(at, text.size(), text) != 0) continue;
      trial.replace(at, text.size(), "\"config\":{}");
      return config;
    }
    const Json json = Json::parse(trial).at("config");
    std::shared_ptr<const Config>& config = known_[kKey + json.dump()];
    if (!config) config = std::make_shared<const Config>(json.get<Config>());
    return config;
  }

 private:
  static constexpr const char* kKey = "\"config\":";
  std::map<std::string, std::shared_ptr<const Config>> known_;  // by the text with its key
};

std::vector<Row> read_rows(const Database& database) {
  std::vector<Row> rows;
  rows.reserve(static_cast<std::size_t>(database.integer("SELECT count(*) FROM trial")));
  Configs configs;
  database.query(
      "SELECT position, state, attempt, sequence, started, finished, trial_json, result_json, number FROM trial ORDER BY "
      "position",
      {}, [&](const Columns& columns) {
        Row& row = rows.emplace_back();
        row.position = static_cast<int>(columns.integer(0));
        row.state = row_state_of(columns.text(1));
        row.attempt = static_cast<int>(columns.integer(2));
        row.sequence = static_cast<int>(columns.integer(3));
        row.started = columns.text(4);
        row.finished = columns.text(5);
        try {
          std::string trial = columns.text(6);
          row.config = configs.take_from(trial);
          row.trial = Json::parse(trial).get<TrialKey>();
          if (row.state == RowState::finished) row.result = Json::parse(columns.text(7)).get<Result>();
        } catch (const std::exception& error) {
          throw Error(fmt::format("trial {}: {}", columns.integer(8), reason_of(error)));
        }
      });
  return rows;
}

}  // namespace

std::string results_database_path(const std::string& directory) {
  return (std::filesystem::path(directory) / kResultsFile).string();
}

void throw_results_error(const std::string& path, const DatabaseError& error) {
  if (error.cannot_write()) {
    throw NotWritable(
        fmt::format("{}: cannot be written ({}): free some space or choose another directory with -o; recorded "
                    "results are kept, and --resume continues the run",
                    path, error.what()));
  }
  if (error.damaged())
    refuse(path, fmt::format("damaged ({}); `sqlite3 FILE .recover` may save what is in it", error.what()));
  throw BadResults(fmt::format("{}: {}", path, error.what()));
}

void create_results_database(const std::string& path) {
  try {
    AtomicFile file(path, fmt::format(".{}.new", getpid()));
    {
      const Database database(file.temporary_path(), Database::Mode::create);
      database.script("PRAGMA synchronous = FULL");
      database.commit([&] {
        database.script(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId, kVersion));
        database.script(kTables);
        database.script(kWindowTable);
        database.script(kRankColumns);
      });
    }
    file.commit();
  } catch (const DatabaseError& error) {
    throw_results_error(path, error);
  } catch (const FileError& error) {
    throw NotWritable(error.what());
  }
}

Database open_results_database(const std::string& path, Database::Mode mode) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) {
    const int reason = errno;
    const std::string directory = std::filesystem::path(path).parent_path().string();
    if (reason == ENOTDIR) throw BadResults(fmt::format("{}: is not a directory: name the directory that contains {}", directory, kResultsFile));
    if (reason != ENOENT) throw BadResults(fmt::format("{}: {}", path, std::strerror(reason)));
    throw BadResults(std::filesystem::exists(directory)
                         ? fmt::format("{}: there is no run in this directory (no {}); name the directory of a run", directory,
                                       kResultsFile)
                         : fmt::format("{}: there is no such directory: name the directory of a run", directory));
  }
  if (!S_ISREG(facts.st_mode)) refuse(path, "not a regular file");
  if (facts.st_size == 0) refuse(path, "empty");
  return translating_errors(path, [&] {
    Database database(path, mode);
    check(path, database);
    return database;
  });
}

void upgrade_results_database(const Database& database) {
  const std::int64_t version = database.integer("PRAGMA user_version");
  if (version == kVersion) return;
  database.commit([&] {
    if (version < 2) database.script(kWindowTable);
    database.script(kRankColumns);
    database.script(fmt::format("PRAGMA user_version = {}", kVersion));
  });
}

RunInfo read_info(const Database& database) {
  std::map<std::string, std::string> values;
  database.query("SELECT key, value FROM run", {}, [&](const Columns& row) { values[row.text(0)] = row.text(1); });
  RunInfo info;
  info.schema = values["schema"];
  info.program_version = values["program_version"];
  info.name = values["name"];
  info.config_json = values["config_json"];
  info.config_hash = values["config_hash"];
  info.config_yaml = values["config_yaml"];
  info.started = values["started"];
  info.data_name = values["data_name"];
  info.data_origin = values["data_origin"];
  info.data_fingerprint = values["data_fingerprint"];
  if (const std::string& warnings = values["warnings"]; !warnings.empty())
    info.warnings = Json::parse(warnings).get<std::vector<std::string>>();
  // Not written by older versions.
  if (const std::string& arguments = values["arguments"]; !arguments.empty())
    info.arguments = Json::parse(arguments).get<std::vector<std::string>>();
  if (const std::string& links = values["links"]; !links.empty()) info.links = Json::parse(links).get<std::vector<LinkMeasurements>>();
  if (const std::string& taints = values["taints"]; !taints.empty())
    info.taints = Json::parse(taints).get<std::vector<std::string>>();
  database.query("SELECT key, value FROM environment ORDER BY position", {},
                 [&](const Columns& row) { info.environment.emplace_back(row.text(0), row.text(1)); });
  return info;
}

Run read_whole_run(const std::string& directory, const Database& database) {
  const std::string path = results_database_path(directory);
  return translating_errors(path, [&] {
    Run run;
    run.directory = directory;
    try {
      database.snapshot([&] {
        run.info = read_info(database);
        run.rows = read_rows(database);
      });
    } catch (const DatabaseError&) {
      throw;
    } catch (const std::exception& error) {
      refuse(path, fmt::format("damaged ({})", reason_of(error)));
    }
    return run;
  });
}

}  // namespace mgcompare
