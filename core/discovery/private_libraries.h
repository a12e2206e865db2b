#pragma once

// The libraries that come with a plugin. Reading them runs nothing.

#include <set>
#include <string>

#include "discovery/plugin_image.h"

namespace mgcompare {

// The libraries that a shared library needs and that lie in a folder of its run path (linker option -rpath), and theirs; not those of
// the system, under /usr, /lib and /opt. A library that LD_LIBRARY_PATH or dlopen() finds does not count. Empty if the file cannot
// be read.
std::set<std::string> private_libraries(const std::string& file);
// The same of a library whose needs are known already: a plugin is large, and reading it takes most of the time.
std::set<std::string> private_libraries(const std::string& file, const NeededLibraries& needed);

// Whether two of them are different files of the same name. The loader knows libraries by name: in one process it would use the first
// one for both.
bool are_confused(const std::set<std::string>& some, const std::set<std::string>& others);

}  // namespace mgcompare
