#pragma once

// Which build of the program runs: two builds can have the same version.

#include <map>
#include <string>

namespace mgcompare {

// SHA-256 of the running program and of the back ends that workers open, by file name. A file is read again only if it was replaced or
// changed since the last call.
std::map<std::string, std::string> current_builds();

// Why a trial would run with another build of a back end than the run; empty if it would not. `builds`: those of the run.
std::string build_change(const std::map<std::string, std::string>& builds);

}  // namespace mgcompare
