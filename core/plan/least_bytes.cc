#include "plan/least_bytes.h"

#include <algorithm>

namespace mgcompare {
namespace {

constexpr std::size_t kBytes = 2;   // of a number

}  // namespace

std::size_t least_bytes_of_step(std::size_t parameters, std::size_t global_batch, std::size_t ranks) {
  const std::size_t largest_share = global_batch / ranks + (global_batch % ranks == 0 ? 0 : 1);
  return kBytes * std::min(parameters, global_batch - largest_share);
}

double least_bytes_per_step(std::size_t parameters, std::size_t samples, std::size_t global_batch, std::size_t ranks) {
  if (samples == 0 || global_batch == 0 || ranks < 2) return 0;
  const std::size_t full = samples / global_batch, rest = samples % global_batch, steps = full + (rest > 0 ? 1 : 0);
  const std::size_t bytes = full * least_bytes_of_step(parameters, global_batch, ranks) + least_bytes_of_step(parameters, rest, ranks);
  return static_cast<double>(bytes) / (static_cast<double>(steps) * static_cast<double>(ranks));
}

}  // namespace mgcompare
