#include "results/results_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "results/row_checksum.h"

namespace mgcompare {
namespace {

constexpr std::int64_t kApplicationId = 0x6d676331;  // "mgc1"

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

// Since version 4. The configs of trials are stored once each, by their SHA-256; trials of an older version have theirs in
// `trial_json`. `checksum` is that of the row (row_checksum.h), and null in rows that an older version wrote.
constexpr char kConfigTable[] = R"(
CREATE TABLE config (sha256 TEXT PRIMARY KEY, json TEXT NOT NULL) STRICT;
ALTER TABLE trial ADD COLUMN config TEXT REFERENCES config;
ALTER TABLE trial ADD COLUMN checksum TEXT;
)";

// Since version 5, in which checksums also cover details, and no trial is without one. `token` is random text by which a process
// knows its own file.
constexpr char kTokenColumn[] = R"(
ALTER TABLE session ADD COLUMN token TEXT;
)";

constexpr std::string_view kScripts[] = {kTables, kWindowTable, kRankColumns, kConfigTable, kTokenColumn};

// Identifiers, key words and literals, in capitals.
std::set<std::string> words_of(std::string_view sql) {
  std::set<std::string> words;
  std::string word;
  for (const char c : sql) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '_' || byte >= 0x80) {
      word += static_cast<char>(std::toupper(byte));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  words.insert(word);
  return words;
}

// The words of our own definitions. No expression that computes anything can be written with them.
const std::set<std::string>& known_words() {
  static const std::set<std::string> known = [] {
    std::set<std::string> all;
    for (const std::string_view script : kScripts) all.merge(words_of(script));
    return all;
  }();
  return known;
}

const std::set<std::string>& known_tables() {
  static const std::set<std::string> kNames = {"run",  "environment", "session", "trial", "epoch",
                                               "rank", "metric",      "window",  "config"};
  return kNames;
}

// Why this entry of the schema is not ours; empty if it is.
std::string foreign(const std::string& type, const std::string& name, const std::string& sql) {
  // SQLite makes an index without a definition for each key.
  if (type == "index" && sql.empty()) return "";
  if (type != "table" || !known_tables().contains(name)) return fmt::format("{} {} '{}'", type == "index" ? "an" : "a", type, name.substr(0, 100));
  for (const std::string& word : words_of(sql))
    if (!known_words().contains(word)) return fmt::format("the word '{}' in the definition of '{}'", word.substr(0, 100), name);
  return "";
}

// Its columns in their order, each with all that the definition says of it.
using Table = std::vector<std::pair<std::string, std::string>>;

Table table_of(const Database& database, const std::string& name) {
  Table table;
  database.query("SELECT name, type, \"notnull\", coalesce(dflt_value, ''), pk FROM pragma_table_info(?)", {name}, [&](const Columns& column) {
    table.emplace_back(column.text(0), fmt::format("{} {} {} {}", column.text(1), column.integer(2), column.text(3), column.integer(4)));
  });
  return table;
}

bool has_column(const Table& table, const std::string& name) {
  return std::any_of(table.begin(), table.end(), [&](const auto& column) { return column.first == name; });
}

// How the columns of the tables differ from those of the version; empty if they do not. Rows are written and read by the order
// of the columns.
std::string differing_columns(const Database& database, std::int64_t version) {
  const Database pattern(":memory:", Database::Mode::create);
  for (std::int64_t i = 0; i < version; ++i) pattern.script(std::string(kScripts[i]));
  for (const std::string& name : known_tables()) {
    const Table expected = table_of(pattern, name), found = table_of(database, name);
    if (found == expected) continue;
    if (found.empty()) return fmt::format("damaged (the table '{}' is missing)", name);
    for (const auto& [column, properties] : expected)
      if (!has_column(found, column)) return fmt::format("damaged (the table '{}' lacks the column '{}')", name, column);
    for (const auto& [column, properties] : found) {
      if (!has_column(expected, column))
        return fmt::format("contains the column '{}' in the table '{}', which results files never do", column.substr(0, 100), name);
    }
    return fmt::format("damaged (the columns of the table '{}' have another order or other types)", name);
  }
  return "";
}

}  // namespace

void create_tables(const Database& database) {
  database.commit([&] {
    database.script(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId, kSchemaVersion));
    for (const std::string_view script : kScripts) database.script(std::string(script));
  });
}

void upgrade_tables(const Database& database) {
  const std::int64_t version = schema_version(database);
  if (version == kSchemaVersion) return;
  database.commit([&] {
    // Only what is intact gets a new checksum.
    const bool is_intact = is_run_intact(database) && database.integer("SELECT count(*) FROM run") > 0;
    const std::vector<std::int64_t> trials = intact_trials(database);
    if (version < 2) database.script(kWindowTable);
    if (version < 3) database.script(kRankColumns);
    if (version < 4) database.script(kConfigTable);
    database.script(kTokenColumn);
    database.script(fmt::format("PRAGMA user_version = {}", kSchemaVersion));
    for (const std::int64_t trial : trials) seal_trial(database, trial);
    if (is_intact) seal_run(database);
  });
}

std::int64_t schema_version(const Database& database) { return database.integer("PRAGMA user_version"); }

std::string schema_problem(const Database& database) {
  if (database.integer("PRAGMA application_id") != kApplicationId) return "not a results file of mgcompare";
  const std::int64_t version = schema_version(database);
  if (version < 1) return "damaged (it has no version)";
  if (version > kSchemaVersion) {
    return fmt::format("written by a newer mgcompare (format {}, this program reads up to {}); update the program", version,
                       kSchemaVersion);
  }
  std::string problem;
  database.query("SELECT type, name, coalesce(sql, '') FROM sqlite_schema", {}, [&](const Columns& entry) {
    if (problem.empty()) problem = foreign(entry.text(0), entry.text(1), entry.text(2));
  });
  return problem.empty() ? differing_columns(database, version) : fmt::format("contains {}, which results files never do", problem);
}

}  // namespace mgcompare
