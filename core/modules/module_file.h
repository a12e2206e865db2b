#pragma once

// Opens a module of the program: a shared library in ../lib/mgcompare beside it. Call in a worker only.

#include <string>

#include <boost/dll/shared_library.hpp>

namespace mgcompare {

// Its path. `name`: "platform_cpu".
std::string module_file(const std::string& name);
// `purpose`: "cpu devices", for the sentences; `advice`: what to do where the module was not built. Throws Error with
// the reason if it cannot be opened, or if this machine lacks what its devices need (MGCOMPARE_DEVICES_NEED); then it is not loaded.
boost::dll::shared_library open_module(const std::string& name, const std::string& purpose, const std::string& advice = "");

}  // namespace mgcompare
