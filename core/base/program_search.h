#pragma once

// Programs on PATH.

#include <filesystem>
#include <string>

namespace mgcompare {

// Whether the file can be executed.
bool is_program(const std::filesystem::path& file);
// The path of the first program of this name on PATH; empty if there is none. Relative folders are left out: they would be others for
// each process.
std::string find_program(const std::string& name);

}  // namespace mgcompare
