#pragma once

// The tables of results.sqlite, by version of the file.

#include <cstdint>
#include <string>

#include "results/sqlite.h"

namespace mgcompare {

inline constexpr std::int64_t kSchemaVersion = 5;
// The first versions in which the run, and each trial with its details, have a checksum.
inline constexpr std::int64_t kRunCovered = 4, kDetailsCovered = 5;

void create_tables(const Database& database);
// Adds the tables, columns and checksums that a file of an older version lacks. Existing rows stay as they are, also damaged ones.
void upgrade_tables(const Database& database);
std::int64_t schema_version(const Database& database);

// Why the file is not a results file of a known version: another program's, a newer one, or one with views, triggers,
// virtual or unknown tables, or expressions in its definitions, which would run when the file is read. Empty if it is one.
// Reads nothing but the schema.
std::string schema_problem(const Database& database);

}  // namespace mgcompare
