#pragma once

// The checksum of a row of the table `trial`: the SHA-256 of all its values. It tells figures that changed in the file from
// those that were written.

#include <cstdint>
#include <string>

#include "results/sqlite.h"

namespace mgcompare {

// Of all columns but `checksum`. Null values do not count, so that columns may be added.
std::string row_checksum(const Columns& row);
// Writes the checksum of a trial's row. Call it after every change of the row, in the same transaction.
void seal_trial(const Database& database, std::int64_t number);

}  // namespace mgcompare
