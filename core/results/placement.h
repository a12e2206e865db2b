#pragma once

// Where each rank of a trial is, what it keeps where, and what it sends over which link. Taken from the calls that the
// strategy makes, so it needs no strategy's word for it.

#include <cstdint>
#include <string>
#include <vector>

namespace mgcompare {

struct Kept {
  std::string what;   // "weights and gradients", "optimiser state", "arrays of the strategy"
  std::string where;  // "cuda:1", "host"
  std::uint64_t bytes = 0;
};

struct Sent {
  std::string call;  // "all_reduce", "copy to host"
  std::string over;  // "the links between devices", "the host link"
  double calls = 0;  // a step, mean
  double bytes = 0;  // a step, mean, sent by this rank
};

struct RankPlacement {
  std::string device;  // "cuda:1"
  std::vector<Kept> kept;
  std::vector<Sent> sent;
};

// For people, a line for each group of ranks that are placed alike (but for the number of their device).
std::vector<std::string> placement_lines(const std::vector<RankPlacement>& ranks);

}  // namespace mgcompare
