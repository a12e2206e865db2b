#pragma once

// The directories of the program's files and of new runs.

#include <string>

namespace mgcompare {

inline constexpr char kRunsFolder[] = "runs";

// Creates and returns runs/<slug>-<local time>, with a number at the end if that exists.
std::string new_run_directory(const std::string& slug);

// The parent of the executable's directory: the prefix of an installation, or a build directory. CMake finds mgcompare's
// package in both.
std::string prefix_folder();

// The directory of the installation's networks and schemas; empty if there is none.
std::string share_folder();

}  // namespace mgcompare
