#pragma once

// Which ranks of a trial are threads of this process. On one host it is all of them.

#include <cstddef>

namespace mgcompare {

struct RankSpan {
  std::size_t first = 0;            // the number of the first rank here
  std::size_t here = 1;
  std::size_t all = 1;

  static RankSpan whole(std::size_t ranks) { return {0, ranks, ranks}; }
  bool is_whole() const { return here == all; }
};

}  // namespace mgcompare
