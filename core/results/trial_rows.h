#pragma once

// Writes the rows of results.sqlite, with their checksums. Call each function in a transaction. They throw DatabaseError. A row that
// another program changed gets a fitting checksum: call restore_trial() first.

#include <cstdint>
#include <string>

#include "plan/trial.h"
#include "results/result.h"
#include "results/sqlite.h"

namespace mgcompare {

// The time as in all dates of the file.
std::string utc_now();

// No other table may have rows of this number: see delete_trial().
void insert_trial(const Database& database, const Trial& trial, int position);
// Replaces the definition of a row by that of the plan, for a plugin that was built again.
void define_trial(const Database& database, const Trial& trial);
void delete_trial(const Database& database, std::int64_t number);
// Writes the row again from the plan, as one that has not run, if it or its details are not as they were written. Returns whether it did.
bool restore_trial(const Database& database, const Trial& trial);
// Back to a trial that has not run. Its attempts still count.
void reset_trial(const Database& database, std::int64_t number);
void start_trial(const Database& database, std::int64_t number, std::int64_t pid);
// Throws Error if no row has the trial's number.
void finish_trial(const Database& database, std::int64_t number, const Result& result);

}  // namespace mgcompare
