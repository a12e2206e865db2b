#pragma once

// Opens plugins with Boost.DLL and never closes them. Call only in a worker: a broken file can end the process.

#include <memory>
#include <string>

#include "mgcompare/strategy.h"

namespace mgcompare {

// Opens the file (once) and creates its strategy. Throws Error with the loader's text.
std::unique_ptr<Strategy> make_strategy(const std::string& file, Options& options, const Facts& facts);

}  // namespace mgcompare
