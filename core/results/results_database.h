#pragma once

// results.sqlite: how it is created, opened and read. Errors of SQLite become NotWritable or BadResults here.

#include <string>

#include "results/results_store.h"
#include "results/sqlite.h"

namespace mgcompare {

std::string results_database_path(const std::string& directory);

// Creates the file with empty tables, atomically. Throws NotWritable or BadResults.
void create_results_database(const std::string& directory);

// Throws BadResults unless the file is an intact database of this program in a known version. Does not change the file. One
// that a fault or a kill left incomplete is repaired by SQLite: for writing in place, for reading in a private copy.
Database open_results_database(const std::string& directory, Database::Mode mode);

// Throws NotWritable or BadResults for an error of SQLite on `path`. `is_changed`: this process has written to the file.
[[noreturn]] void throw_results_error(const std::string& path, const DatabaseError& error, bool is_changed = false);
// The file was removed, moved or replaced during the run.
[[noreturn]] void throw_moved(const std::string& path);

// Runs `work` and returns its result. A DatabaseError becomes NotWritable or BadResults.
template <class F> auto translating_errors(const std::string& path, const F& work, bool is_changed = false) {
  try {
    return work();
  } catch (const DatabaseError& error) {
    throw_results_error(path, error, is_changed);
  }
}

RunInfo read_info(const Database& database);
// Reads one consistent snapshot, also while another process writes.
Run read_whole_run(const std::string& directory, const Database& database, bool is_changed = false);

}  // namespace mgcompare
