#pragma once

// Where each rank of a trial runs, what it stores where, and what it sends over which link. Recorded from the calls of the
// strategy, not declared by it.

#include <cstdint>
#include <string>
#include <vector>

namespace mgcompare {

struct Kept {
  std::string what;   // "weights and gradients", "optimiser state", "arrays of the strategy"
  std::string where;  // "cuda:1", "host"
  std::uint64_t bytes = 0;
  std::string type = {};  // of the elements: "fp32", "bf16"; empty: not known, or several
};

inline constexpr char kLinksBetweenDevices[] = "the links between devices";

struct Sent {
  std::string call;  // "all_reduce", "copy to host"
  std::string over;  // "the links between devices", "the host link"
  double calls = 0;  // mean per step
  double bytes = 0;  // mean per step, sent by this rank
  double payload = 0;  // of a group call on one host: mean per step, bytes of the whole vectors; 0: not known, in results of older versions
};

struct RankPlacement {
  std::string device;  // "cuda:1"
  std::vector<Kept> kept;
  std::vector<Sent> sent;
  // With `numerics.kernels: library`, what mgcompare's own kernels computed nevertheless: "dropout", "the update of the weights".
  std::vector<std::string> own_kernels = {};
};

// For readers: one line for each group of ranks with the same placement apart from the device number.
std::vector<std::string> placement_lines(const std::vector<RankPlacement>& ranks);

}  // namespace mgcompare
