#pragma once

// For which GPU generations a library has code of its own, by the fat binaries that nvcc puts into it.

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/capabilities.h"

namespace mgcompare {

struct GpuCode {
  int generation = 0;               // 90 means compute capability 9.0
  bool is_ptx = false;              // compiled on the machine, for this generation or any later one
  bool is_specific = false;         // as sm_90a: for exactly this generation

  auto operator<=>(const GpuCode&) const = default;
  // "sm_90", "sm_90a", "PTX 90"
  std::string text() const;
  // Machine code runs on later generations of the same major version, too.
  bool runs_on(int other) const;
};

// In ascending order, each once; empty if there is none. The bytes are not trusted. Throws Error, the rest of a sentence about the
// file, unless they are those of a shared library; a fat binary that does not fit into its section is left out.
std::vector<GpuCode> gpu_code(std::string_view bytes);

// The generation of a GPU, which its notes tell; nothing for other devices.
std::optional<int> generation_of(const DeviceSummary& device);

}  // namespace mgcompare
