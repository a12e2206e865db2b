#pragma once

// Where the program's files are, and where a run's files go.

#include <string>

namespace mgcompare {

inline constexpr char kRunsFolder[] = "runs";

// runs/<slug>-<local time>, with a number behind it where that is taken.
std::string new_run_directory(const std::string& slug);

// The one above that of this executable: an installation's prefix, or a build folder. CMake finds mgcompare's package in
// both.
std::string prefix_folder();

// Of the installation that this executable belongs to: where networks and schemas are. Empty when there is none.
std::string share_folder();

}  // namespace mgcompare
