#pragma once

// What tells one build of a plugin from another. Reading it runs nothing.

#include <string>

namespace mgcompare {

// SHA-256 of what a plugin runs. Of a backend: its manifest and its program, with all modules in the folder of one in Python. Of a shared
// library: its bytes and, if there are any, those of the libraries that it needs and that lie in a folder of its run path (linker option
// -rpath), theirs too; not those of the system, under /usr, /lib and /opt. A library that LD_LIBRARY_PATH or dlopen() finds does not count.
// Empty if the files cannot be read.
std::string checksum_of_plugin(const std::string& file);

}  // namespace mgcompare
