#pragma once

// Explains why the dynamic loader cannot open a back end, for a user who can install libraries.

#include <functional>
#include <string>

namespace mgcompare {

// Turns the error text of the loader into a sentence that says what to install. `is_there`: whether the loader finds the
// library of that name. Other errors are returned unchanged.
std::string explain_module_error(const std::string& loader_error, const std::function<bool(const std::string&)>& is_there);

// Whether the loader finds the library. Call in a worker only: the library is opened for a moment.
bool loader_finds(const std::string& library);

}  // namespace mgcompare
