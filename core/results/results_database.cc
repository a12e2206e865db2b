#include "results/results_database.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error_text.h"
#include "results/journal.h"
#include "results/private_copy.h"
#include "results/results_schema.h"
#include "results/row_checksum.h"
#include "results/stored_rows.h"

namespace mgcompare {
namespace {

constexpr char kWhatIsKept[] = "; trials that were printed as finished are kept, and --resume continues with them if there are any";

using Json = nlohmann::json;

constexpr std::int64_t kSchemaWithTokens = 5;

constexpr char kChangedRun[] = "the properties of the run in results.sqlite, or the list of its trials, do not match their checksum, so "
                               "they changed after they were written";

// Errors of a config and messages of SQLite on damaged pages have several lines.
std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why, bool is_changed = false) {
  throw BadResults(fmt::format("{}: {}; {}name another directory, or move the file away", path, on_one_line(why),
                               is_changed ? "" : "the file is not changed: "));
}

[[noreturn]] void throw_unreadable(const std::string& path, const std::string& why) {
  throw BadResults(fmt::format("{}: cannot be read ({}): check the disk and the permissions of the file", path, on_one_line(why)));
}

// Throws BadResults unless the file is an intact database of this program in a known version. The schema comes first: in a
// file with views or expressions anything else may take for ever.
void check(const std::string& path, const Database& database) {
  const auto leave = [&](const auto& refusal) {
    database.abandon();             // else closing it would apply its log, which may be that of another file
    refusal();
  };
  if (const std::string problem = schema_problem(database); !problem.empty()) leave([&] { refuse(path, problem); });
  const std::string health = database.text("PRAGMA quick_check(1)");
  if (health.find("unable to get the page") != std::string::npos) leave([&] { throw_unreadable(path, health); });
  if (health != "ok") leave([&] { refuse(path, fmt::format("damaged ({}); `sqlite3 FILE .recover` may save what is in it", health)); });
}

// Each commit names its session in the log. In a file to which the log of another run was applied, the table of sessions, which is in
// the file itself, does not have that session.
void check_log(const std::string& path, const Database& database) {
  if (schema_version(database) < kSchemaWithTokens) return;
  std::string last;
  database.query("SELECT value FROM run WHERE key = ?", {kLastCommit}, [&](const Columns& row) { last = row.text(0); });
  if (last.empty()) return;  // not written by older versions
  const std::string session = last.substr(0, last.find(' '));
  bool is_known = false;
  database.query("SELECT token FROM session", {}, [&](const Columns& row) { is_known |= sha256(row.text(0)) == session; });
  if (is_known) return;
  database.abandon();
  if (std::error_code ignored; !std::filesystem::exists(path + "-wal", ignored))
    refuse(path, "its table of sessions does not have the session that wrote last, so another program has changed it; restore a copy");
  refuse(path, fmt::format("its log, {}-wal, is that of another run; move the log away to read the file without it, or restore both files", kResultsFile));
}

// What is written to a file with a second name changes the run of another directory.
void refuse_second_name(const std::string& path, const struct stat& facts) {
  if (facts.st_nlink <= 1) return;
  throw BadResults(fmt::format("{0}: has {1} names (hard links), so to write it would change the run in another directory too; make it a file "
                               "of its own (cp -p {0} copy && mv copy {0}), and run the command again", path, facts.st_nlink));
}

// SQLite's limit, less the suffixes of a new file and of the files that SQLite makes beside it.
constexpr std::size_t kLongestPath = 512 - 24;

// The path without links, because SQLite is told to follow none. Empty if the folder does not exist.
std::string real_path(const std::string& path) {
  std::error_code absent;
  const std::filesystem::path given = path, folder = std::filesystem::canonical(given.has_parent_path() ? given.parent_path() : ".", absent);
  return absent ? "" : (folder / given.filename()).string();
}

// A copy that nobody else sees, in which SQLite applies the journal or the log.
Database open_private_copy(const std::string& path, const std::string& real) {
  const PrivateCopy copy(real);
  if (const std::string problem = journal_problem(copy.path() + "-journal"); !problem.empty()) refuse(path + "-journal", problem);
  try {
    const Database repaired(copy.path(), Database::Mode::write);
    check(path, repaired);
    check_log(path, repaired);
    repaired.script("PRAGMA synchronous = OFF; PRAGMA journal_mode = DELETE");
  } catch (const DatabaseError& error) {
    if (!error.cannot_write()) throw;
    throw BadResults(fmt::format("{}: cannot be repaired for reading in {} ({}): set TMPDIR to a folder with space", path, copy.path(),
                                 error.what()));
  }
  // The open file outlives its folder.
  return Database(copy.path(), Database::Mode::read);
}

}  // namespace

std::string results_database_path(const std::string& directory) {
  return (std::filesystem::path(directory) / kResultsFile).string();
}

void throw_moved(const std::string& path) {
  throw NotWritable(fmt::format("{}: was removed, moved or replaced while the run wrote to it, so the run ends; what was recorded is "
                                "lost unless the directory was moved: then continue there with --resume -o",
                                path));
}

void throw_results_error(const std::string& path, const DatabaseError& error, bool is_changed) {
  if (error.moved()) throw_moved(path);
  if (error.interrupted()) throw ReadingStopped(path);
  if (error.by_limit()) {
    if (error.cannot_read()) throw BadResults(fmt::format("{}: cannot be read: {}", path, error.what()));
    throw NotWritable(fmt::format("{}: cannot be written: {}{}", path, error.what(), kWhatIsKept));
  }
  if (error.cannot_read()) throw_unreadable(path, error.what());
  if (error.cannot_write()) {
    if (real_path(path).empty()) throw_moved(path);
    // A file that this user may not read cannot be opened for writing either.
    throw NotWritable(fmt::format("{}: cannot be {} ({}): {} or choose another directory with -o{}", path,
                                  access(path.c_str(), R_OK) != 0 && errno == EACCES ? "read" : "written", error.what(),
                                  error.disk_full() ? "free some space" : "check the disk and its permissions,", kWhatIsKept));
  }
  if (error.damaged())
    refuse(path, fmt::format("damaged ({}); `sqlite3 FILE .recover` may save what is in it", error.what()), is_changed);
  if (error.too_much_work()) refuse(path, "reading takes more work than that of any results file", is_changed);
  if (error.busy())
    throw BadResults(fmt::format("{}: in use by another program ({}): close it, and run the command again", path, error.what()));
  throw BadResults(fmt::format("{}: {}", path, error.what()));
}

void create_results_database(const std::string& directory) {
  const std::string path = results_database_path(directory);
  if (real_path(path).size() > kLongestPath) {
    throw NotWritable(fmt::format("{}: the path is too long ({} bytes, at most {}): give a shorter directory with -o", path,
                                  real_path(path).size(), kLongestPath));
  }
  try {
    AtomicFile file(real_path(path), fmt::format(".{}.new", getpid()));
    {
      const Database database(file.temporary_path(), Database::Mode::create);
      // The file itself is temporary, so a fault leaves nothing to repair, and no journal either.
      database.script("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
      create_tables(database);
    }
    file.commit();
  } catch (const DatabaseError& error) {
    throw_results_error(path, error);
  } catch (const FileError& error) {
    throw NotWritable(error.what());
  }
}

Database open_results_database(const std::string& directory, Database::Mode mode) {
  const std::string path = results_database_path(directory), real = real_path(path);
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) {
    const int reason = errno;
    if (reason == ENOTDIR) throw BadResults(fmt::format("{}: is not a directory: name the directory that contains {}", directory, kResultsFile));
    if (reason != ENOENT)
      throw BadResults(fmt::format("{}: cannot be read: {}; check the path and the permissions of its directories", path, error_text(reason)));
    throw BadResults(!real.empty()
                         ? fmt::format("{}: there is no run in this directory (no {}); name the directory of a run", directory,
                                       kResultsFile)
                         : fmt::format("{}: there is no such directory: name the directory of a run", directory));
  }
  if (!S_ISREG(facts.st_mode)) refuse(path, "not a regular file");
  if (facts.st_size == 0) refuse(path, "empty");
  const bool writes = mode != Database::Mode::read && mode != Database::Mode::read_own;
  if (writes) refuse_second_name(path, facts);
  // SQLite opens these, too, and would wait for the writer of a named pipe.
  for (const char* suffix : {"-journal", "-wal", "-shm"})
    if (lstat((path + suffix).c_str(), &facts) == 0) {
      if (!S_ISREG(facts.st_mode)) refuse(path + suffix, "not a regular file");
      if (writes) refuse_second_name(path + suffix, facts);
    }
  if (real.size() > kLongestPath)
    refuse(path, fmt::format("the path is too long ({} bytes, at most {})", real.size(), kLongestPath));
  if (writes)
    if (const std::string problem = journal_problem(real + "-journal"); !problem.empty()) refuse(path + "-journal", problem);
  return translating_errors(path, [&] {
    try {
      Database database(real, mode);
      check(path, database);
      check_log(path, database);
      return database;
    } catch (const DatabaseError& error) {
      if (!error.needs_writer()) throw;
    }
    return open_private_copy(path, real);
  });
}

RunInfo read_info(const Database& database) {
  std::map<std::string, std::string> values;
  database.query("SELECT key, value FROM run", {}, [&](const Columns& row) { values[row.text(0)] = row.text(1); });
  RunInfo info;
  info.schema = values["schema"];
  info.program_version = values["program_version"];
  if (const std::string& builds = values["builds"]; !builds.empty()) info.builds = Json::parse(builds).get<std::map<std::string, std::string>>();
  info.name = values["name"];
  info.config_json = values["config_json"];
  info.config_hash = values["config_hash"];
  info.config_yaml = values["config_yaml"];
  info.started = values["started"];
  info.data_name = values["data_name"];
  info.data_origin = values["data_origin"];
  info.data_fingerprint = values["data_fingerprint"];
  info.data_remark = values["data_remark"];
  if (const std::string& warnings = values["warnings"]; !warnings.empty())
    info.warnings = Json::parse(warnings).get<std::vector<std::string>>();
  // Not written by older versions.
  if (const std::string& arguments = values["arguments"]; !arguments.empty())
    info.arguments = Json::parse(arguments).get<std::vector<std::string>>();
  if (const std::string& links = values["links"]; !links.empty()) info.links = Json::parse(links).get<std::vector<LinkMeasurements>>();
  if (const std::string& taints = values["taints"]; !taints.empty())
    info.taints = Json::parse(taints).get<std::vector<std::string>>();
  if (!is_run_intact(database)) info.taints.emplace_back(kChangedRun);
  database.query("SELECT key, value FROM environment ORDER BY position", {},
                 [&](const Columns& row) { info.environment.emplace_back(row.text(0), row.text(1)); });
  return info;
}

Run read_whole_run(const std::string& directory, const Database& database, bool is_changed) {
  const std::string path = results_database_path(directory);
  const auto read = [&] {
    Run run;
    run.directory = directory;
    try {
      database.snapshot([&] {
        run.info = read_info(database);
        run.rows = read_rows(database, run.info.config_json);
      });
    } catch (const DatabaseError&) {
      throw;
    } catch (const std::exception& error) {
      refuse(path, fmt::format("damaged ({})", reason_of(error)), is_changed);
    }
    return run;
  };
  return translating_errors(path, read, is_changed);
}

}  // namespace mgcompare
