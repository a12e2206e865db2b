#pragma once

// results.sqlite: its tables, and how it is created, opened, upgraded and read. Errors of SQLite become NotWritable or
// BadResults here.

#include <string>

#include "results/sqlite.h"
#include "results/results_store.h"

namespace mgcompare {

std::string results_database_path(const std::string& directory);

// Creates the file with empty tables, atomically. Throws NotWritable or BadResults.
void create_results_database(const std::string& path);

// Throws BadResults unless the file is an intact database of this program in a known version. Does not change the file.
Database open_results_database(const std::string& path, Database::Mode mode);

// Adds the tables and columns that a file of an older version lacks. Existing rows stay as they are.
void upgrade_results_database(const Database& database);

// Throws NotWritable or BadResults for an error of SQLite on `path`.
[[noreturn]] void throw_results_error(const std::string& path, const DatabaseError& error);

// Runs `work` and returns its result. A DatabaseError becomes NotWritable or BadResults.
template <class F> auto translating_errors(const std::string& path, const F& work) {
  try {
    return work();
  } catch (const DatabaseError& error) {
    throw_results_error(path, error);
  }
}

RunInfo read_info(const Database& database);
// Reads one consistent snapshot, also while another process writes.
Run read_whole_run(const std::string& directory, const Database& database);

}  // namespace mgcompare
