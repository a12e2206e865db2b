#pragma once

// Opens plugins with Boost.DLL and never closes them. Call in a worker only: a broken file can end the process.

#include <memory>
#include <string>

#include "mgcompare/error.h"
#include "mgcompare/strategy.h"

namespace mgcompare {

// The plugin's file is refused or cannot be opened. what() names it.
class UnusablePlugin : public Error {
 public:
  using Error::Error;
};

// Opens the file, unless it is open. Any thread. Throws UnusablePlugin or ConfusedLibraries (loaded_libraries.h).
void open_plugin(const std::string& file);

// Creates the strategy of the plugin; opens the file at its first use. Any thread. Throws UnusablePlugin,
// ConfusedLibraries (loaded_libraries.h), and whatever the strategy's constructor throws.
std::unique_ptr<Strategy> make_strategy(const std::string& file, Options& options, const Facts& facts);

}  // namespace mgcompare
