#pragma once

// backend.json: the file by which a folder is a backend, a program that trains trials with another framework
// (docs/backend-protocol.md). Reading it runs nothing.

#include <string>
#include <string_view>
#include <vector>

namespace mgcompare {

inline constexpr std::string_view kManifestName = "backend.json";
inline constexpr int kBackendProtocol = 1;

struct Manifest {
  std::string name, description;
  std::string program;              // its path
  bool is_python = false;           // run by an interpreter
};

// Whether this file of a plugin is the manifest of a backend, not a shared library of a strategy.
bool is_backend(std::string_view plugin_file);

// Throws Error, the rest of a sentence about the file ("does not exist"), for anything but a manifest as the protocol has it, for one
// whose program is not in its folder, and if every user can write to either.
Manifest read_manifest(const std::string& file);

// The files that the program may read as parts of itself: the program, and of one in Python all modules in its folder.
std::vector<std::string> parts_of(const Manifest& manifest);

}  // namespace mgcompare
