#pragma once

// Why a module of devices does not open, in words for somebody who can install libraries.

#include <functional>
#include <string>

namespace mgcompare {

// From what the dynamic loader said. `is_there` tells whether the loader finds a library of a name.
std::string explain_module_error(const std::string& said, const std::function<bool(const std::string&)>& is_there);

// Asks the loader. Call only in a worker: a library that is found is opened.
bool loader_finds(const std::string& library);

}  // namespace mgcompare
