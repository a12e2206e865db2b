#pragma once

// Opens plugins with Boost.DLL and never closes them. Call in a worker only: a broken file can end the process.

#include <memory>
#include <string>

#include "mgcompare/strategy.h"

namespace mgcompare {

// Creates the strategy of the plugin; opens the file at its first use. Any thread. Throws Error if the file cannot be opened.
std::unique_ptr<Strategy> make_strategy(const std::string& file, Options& options, const Facts& facts);

}  // namespace mgcompare
