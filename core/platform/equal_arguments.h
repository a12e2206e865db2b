#pragma once

// What all ranks must pass alike to a collective. `slots` are the ranks' arguments, with `size` and `counts`. Both throw Error.

#include <string>

#include "mgcompare/error.h"

namespace mgcompare {

template <class Slots> void check_equal_sizes(const Slots& slots) {
  for (const auto& slot : slots)
    if (slot.size != slots[0].size)
      throw Error("a collective was called with " + std::to_string(slots[0].size) + " elements on one rank and " + std::to_string(slot.size) +
                  " on another; pass the same number on every rank");
}

template <class Slots> void check_equal_counts(const Slots& slots) {
  for (const auto& slot : slots)
    if (*slot.counts != *slots[0].counts)
      throw Error("a collective was called with different counts on two ranks; pass the same list on every rank");
}

}  // namespace mgcompare
