#include "results/writing_session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>

#include "base/error_text.h"
#include "base/random_token.h"
#include "results/results_database.h"
#include "results/results_schema.h"
#include "results/row_checksum.h"
#include "results/trial_rows.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

// These file systems do not share memory across hosts, which WAL needs.
bool on_network(const std::string& directory) {
  constexpr std::array<std::uint32_t, 10> kNetwork = {0x6969,     0x517b,     0xff534d42, 0xfe534d42, 0x01021997,
                                                      0x65735546, 0x00c36400, 0x0bd00bd0, 0x47504653, 0x5346414f};
  struct statfs facts {};
  if (statfs(directory.c_str(), &facts) != 0) return true;
  return std::find(kNetwork.begin(), kNetwork.end(), static_cast<std::uint32_t>(facts.f_type)) != kNetwork.end();
}

}  // namespace

WritingSession::WritingSession(const std::string& directory) : directory_(directory), path_(results_database_path(directory)) {
  std::error_code failure;
  made_directory_ = fs::create_directories(directory, failure);
  if (failure)
    throw NotWritable(fmt::format("{}: cannot be created: {}; give another directory with -o", directory, failure.message()));
  if (access(directory.c_str(), W_OK | X_OK) != 0)
    throw NotWritable(fmt::format("{}: {}; give another directory with -o", directory, error_text(errno)));
  real_path_ = (fs::canonical(directory) / kResultsFile).string();
  try {
    begin();
  } catch (...) {
    database_.reset();
    if (made_file_) unlinkat(lock_.number(), kResultsFile, 0);
    if (made_directory_) rmdir(directory_.c_str());
    throw;
  }
}

void WritingSession::begin() {
  take_lock();
  struct stat facts {};
  made_file_ = lstat(path_.c_str(), &facts) != 0;
  if (made_file_) create_results_database(directory_);
  // An interrupted new run says so itself; there is nothing to read that could take long.
  database_.emplace(open_results_database(directory_, made_file_ ? Database::Mode::write_own : Database::Mode::write));
  translating_errors(path_, [&] {
    database_->script("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
    upgrade_tables(*database_);
    record_session();
  }, true);
}

WritingSession::~WritingSession() {
  if (!database_) return;
  database_->ignore_interruptions();
  const WrittenFile::Fate fate = file_ ? file_->fate() : WrittenFile::Fate::in_place;
  try {
    switch (fate) {
      // Back to one plain file, which opens anywhere, also where nothing may be written.
      case WrittenFile::Fate::in_place:
      case WrittenFile::Fate::without_log: database_->script("PRAGMA journal_mode = DELETE"); break;
      // Completes the file where it is now. The log at the path may be that of another file.
      case WrittenFile::Fate::moved: database_->script("PRAGMA wal_checkpoint(TRUNCATE)"); break;
      case WrittenFile::Fate::overwritten: database_->abandon(); break;
    }
  } catch (const DatabaseError&) {
    // A reader is busy: the file stays as it is, complete together with its -wal file.
  }
  const bool leaves_nothing = made_file_ && fate == WrittenFile::Fate::in_place && !has_begun();
  database_.reset();
  if (leaves_nothing) {
    unlinkat(lock_.number(), kResultsFile, 0);
    // Fails if there is anything else, such as the last words of a worker.
    if (made_directory_) rmdir(directory_.c_str());
  }
  // SQLite would apply the log to the other file.
  if (fate == WrittenFile::Fate::overwritten)
    for (const char* suffix : {"-wal", "-shm"}) unlinkat(lock_.number(), (std::string(kResultsFile) + suffix).c_str(), 0);
}

bool WritingSession::has_begun() const {
  try {
    return database_->integer("SELECT count(*) FROM run") > 0;
  } catch (const DatabaseError&) {
    return true;
  }
}

void WritingSession::take_lock() {
  lock_ = Descriptor(open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock_.number() < 0) throw NotWritable(fmt::format("{}: {}", directory_, error_text(errno)));
  if (flock(lock_.number(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) throw NotWritable(fmt::format("{}: cannot be locked: {}", directory_, error_text(errno)));
  std::string holder = "another process";
  try {
    const Database other = open_results_database(directory_, Database::Mode::read);
    other.query("SELECT pid, host, started FROM session ORDER BY number DESC LIMIT 1", {}, [&](const Columns& row) {
      holder = fmt::format("process {} on {}, started {}", row.integer(0), row.text(1), row.text(2));
    });
  } catch (const Error&) {
    // The holder has not written its name yet.
  }
  throw InUse(fmt::format("{}: in use by {}: wait until it ends, or give another directory with -o", directory_, holder));
}

// The token goes into the file itself, not only into its log.
void WritingSession::record_session() {
  token_ = random_token();
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  database_->run("INSERT INTO session (pid, host, started, token) VALUES (?, ?, ?, ?)",
                 {std::int64_t{getpid()}, std::string(host.data()), utc_now(), token_});
  database_->run("UPDATE run SET value = ? WHERE key = ?", {fmt::format("{} 0", sha256(token_)), kLastCommit});
  // A killed run may have left the log on.
  database_->script("PRAGMA wal_checkpoint(TRUNCATE)");
  database_->script(fmt::format("PRAGMA journal_mode = {}", on_network(directory_) ? "DELETE" : "WAL"));
  file_.emplace(real_path_, *database_, token_);
}

void WritingSession::check_in_place() {
  const WrittenFile::Fate fate = file_->fate();
  if (fate == WrittenFile::Fate::moved) throw_moved(path_);
  if (fate == WrittenFile::Fate::overwritten) {
    throw NotWritable(fmt::format("{}: was overwritten by another program while the run wrote to it, so the run ends; what was recorded "
                                  "is lost: run again in another directory with -o",
                                  path_));
  }
  if (fate == WrittenFile::Fate::without_log) {
    throw NotWritable(fmt::format("{}-wal: was removed or replaced while the run wrote to it, so the run ends; what was recorded is in {}, "
                                  "and --resume continues with it",
                                  path_, kResultsFile));
  }
}

// The given path may go through a link, which may lead to the folder of another run by now: reports would replace its reports.
void WritingSession::check_path() {
  check_in_place();
  struct stat given {}, locked {};
  if (stat(directory_.c_str(), &given) == 0 && fstat(lock_.number(), &locked) == 0 && given.st_dev == locked.st_dev && given.st_ino == locked.st_ino)
    return;
  const std::string folder = fs::path(real_path_).parent_path().string();
  throw NotWritable(fmt::format("{}: no longer leads to {}, to which the run writes, so the run ends; what was recorded is there: continue "
                                "with --resume -o {}",
                                directory_, folder, folder));
}

void WritingSession::commit(const std::function<void()>& work) {
  check_in_place();
  translating_errors(path_, [&] {
    database_->commit([&] {
      work();
      database_->run("INSERT INTO run VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                     {kLastCommit, fmt::format("{} {}", sha256(token_), ++commits_)});
    });
  }, true);
  check_in_place();
}

Run WritingSession::read() {
  check_path();
  return read_whole_run(directory_, *database_, true);
}

}  // namespace mgcompare
