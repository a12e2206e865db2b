#pragma once

// The rollback journal beside a database. SQLite applies one that an interrupted writer left, and obeys what it says.

#include <cstdint>
#include <string>

namespace mgcompare {

// More than any results file or its journal needs.
inline constexpr std::int64_t kMostJournalBytes = std::int64_t{1} << 30;

// Why SQLite must not apply the journal `path`: it is not a regular file, is too large, or names another journal, which
// SQLite would delete wherever it is. Empty if it may, or if there is none.
std::string journal_problem(const std::string& path);

}  // namespace mgcompare
