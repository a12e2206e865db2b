#pragma once

// The environment variables that OpenMP, the C library and the libraries of the back ends read.

#include <map>
#include <string>
#include <string_view>

namespace mgcompare {

// Those of this process, without names that look like a secret: reports are passed on.
std::map<std::string, std::string> library_variables();

// Whether a variable names something of one host: a folder or a version of what is installed there, its devices, the host itself.
bool is_of_one_host(std::string_view name);
// Whether a variable can change results or their speed: not one that names a place, the devices to use, which are recorded as such, or chooses
// what is printed.
bool changes_results(std::string_view name);

// The first difference between two sets of those that can change results: "NAME=VALUE, which is not set WHERE", where `where` says of the
// other set that it is "now" or "on this machine"; "" if there is none.
std::string different_variable(const std::map<std::string, std::string>& one, const std::map<std::string, std::string>& other,
                               const std::string& where);

}  // namespace mgcompare
