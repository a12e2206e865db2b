#pragma once

// What tells one build of a plugin from another. Reading it runs nothing.

#include <string>

namespace mgcompare {

// SHA-256 of what a plugin runs. Of a backend: its manifest and its program, with all modules in the folder of one in Python. Of a shared
// library: its bytes and, if there are any, those of its private_libraries(). Empty if the files cannot be read.
std::string checksum_of_plugin(const std::string& file);

}  // namespace mgcompare
