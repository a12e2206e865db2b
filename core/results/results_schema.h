#pragma once

// The tables of results.sqlite, by version of the file.

#include <cstdint>
#include <string>

#include "results/sqlite.h"

namespace mgcompare {

inline constexpr std::int64_t kSchemaVersion = 4;

void create_tables(const Database& database);
// Adds the tables and columns that a file of an older version lacks. Existing rows stay as they are.
void upgrade_tables(const Database& database);
std::int64_t schema_version(const Database& database);

// Why the file is not a results file of a known version: another program's, a newer one, or one with views, triggers,
// virtual or unknown tables, or expressions in its definitions, which would run when the file is read. Empty if it is one.
// Reads nothing but the schema.
std::string schema_problem(const Database& database);

}  // namespace mgcompare
