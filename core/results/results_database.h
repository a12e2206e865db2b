#pragma once

// The file behind the results: its tables, how it is made, opened and read. What SQLite says of it becomes NotWritable
// or BadResults here.

#include <string>

#include "results/sqlite.h"
#include "results/results_store.h"

namespace mgcompare {

std::string results_database_path(const std::string& directory);

// Makes a file with empty tables, which appears under its name only when they are in it.
void create_results_database(const std::string& path);

// Throws BadResults unless the file is a sound database of this program and of a version that it knows. Changes
// nothing.
Database open_results_database(const std::string& path, Database::Mode mode);

// Gives a file of an older version the tables that have come since. Its rows stay as they are.
void upgrade_results_database(const Database& database);

// Throws the error for what SQLite said while it worked on `path`.
[[noreturn]] void throw_results_error(const std::string& path, const DatabaseError& error);

// Runs `work` and returns what it returns.
template <class F> auto translating_errors(const std::string& path, const F& work) {
  try {
    return work();
  } catch (const DatabaseError& error) {
    throw_results_error(path, error);
  }
}

RunInfo read_info(const Database& database);
// One snapshot, although a writer may go on.
Run read_whole_run(const std::string& directory, const Database& database);

}  // namespace mgcompare
