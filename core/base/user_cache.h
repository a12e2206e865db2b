#pragma once

// The program's folder in the user's cache.

#include <string>

namespace mgcompare {

// $XDG_CACHE_HOME/mgcompare, or ~/.cache/mgcompare. Empty if neither variable is an absolute path; a relative XDG_CACHE_HOME is
// ignored. The folder may not exist.
std::string user_cache();

}  // namespace mgcompare
