#pragma once

// Checksums of each row of the table `trial`, and of the run: the tables `run` and `environment` and the numbers of all trials.
// They are the SHA-256 of all values, and tell values that changed in the file from those that were written.

#include <cstdint>
#include <string>

#include "results/sqlite.h"

namespace mgcompare {

// Of all columns but `checksum`. Null values do not count, so that columns may be added.
std::string row_checksum(const Columns& row);
// Writes the checksum of a trial's row. Call it after every change of the row, in the same transaction.
void seal_trial(const Database& database, std::int64_t number);

// The same for the run, under the key `checksum` of the table `run`. Files of older versions and those
// without a run have none and are intact.
void seal_run(const Database& database);
bool is_run_intact(const Database& database);

}  // namespace mgcompare
