#pragma once

// Reads the rows of results.sqlite. The file is not trusted: a row whose values do not match its checksum has the status
// `damaged`, and configs are read without opening the files that they name.

#include <string>
#include <vector>

#include "results/results_store.h"
#include "results/sqlite.h"

namespace mgcompare {

// Rows by position. `run_config` is the config of the whole run. Throws Error for a row that cannot be read at all.
std::vector<Row> read_rows(const Database& database, const std::string& run_config);

// The message without the name of the exception of the JSON library.
std::string reason_of(const std::exception& error);

}  // namespace mgcompare
