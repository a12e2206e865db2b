#pragma once

// What all ranks must pass alike to a collective. `slots` are the ranks' arguments, with `call`, `size` and `counts`. All throw Error.

#include <string>

#include "mgcompare/error.h"
#include "mgcompare/types.h"

namespace mgcompare {

// Which collective a rank has called.
struct CollectiveCall {
  const char* name = "";            // a literal of the function that all ranks call
  Type type = Type::uint8;          // of the elements that are added; uint8 for calls that only move bytes
  int root = -1;                    // -1: none

  bool operator==(const CollectiveCall&) const = default;
  // "reduce of float16 elements to or from rank 1"
  std::string text() const {
    constexpr const char* kTypes[] = {"float32", "float16", "bfloat16", "uint8", "uint32"};
    return std::string(name) + (type == Type::uint8 ? "" : std::string(" of ") + kTypes[static_cast<std::size_t>(type)] + " elements") +
           (root < 0 ? "" : " to or from rank " + std::to_string(root));
  }
};

// `first`: the rank whose slot is the first.
template <class Slots> void check_same_call(const Slots& slots, std::size_t first = 0) {
  for (std::size_t k = 1; k < slots.size(); ++k)
    if (!(slots[k].call == slots[0].call))
      throw Error("rank " + std::to_string(first) + " called " + slots[0].call.text() + ", and rank " + std::to_string(first + k) + " " + slots[k].call.text() +
                  ": all ranks must call the same collectives in the same order, with the same type and root");
}

template <class Slots> void check_equal_sizes(const Slots& slots) {
  for (const auto& slot : slots)
    if (slot.size != slots[0].size)
      throw Error("a collective was called with " + std::to_string(slots[0].size) + " elements (of a broadcast: bytes) on one rank and " + std::to_string(slot.size) +
                  " on another; pass the same number on every rank");
}

template <class Slots> void check_equal_counts(const Slots& slots) {
  for (const auto& slot : slots)
    if (*slot.counts != *slots[0].counts)
      throw Error("a collective was called with different counts on two ranks; pass the same list on every rank");
}

}  // namespace mgcompare
