#pragma once

// One call of any collective, by its name, with vectors of which each rank has the same part.

#include <cstddef>
#include <string>
#include <string_view>

#include "platform/platform.h"

namespace mgcompare {

inline constexpr std::string_view kAllReduce = "all_reduce";

// What a rank moves. In an all_to_all each rank has such a vector and sends its parts.
struct CallVectors {
  int rank, root;
  float *all, *mine;                // the vector, and room for this rank's part of it or, in an all_to_all, for as much as all
  std::size_t bytes;                // of `all`
  std::size_t ranks;
};

// What a rank sends, which it has written before the call. Throws Error for an unknown name.
Vec sent_by(const std::string& name, const CallVectors& of);
// Throws Error for an unknown name.
void make_call(const std::string& name, Collectives& group, const CallVectors& of);

}  // namespace mgcompare
