#pragma once

// Access to memory that other threads read and write at the same time, atomic for each element.

#include <atomic>

#include "mgcompare/types.h"

namespace mgcompare {

inline void load_elements(const float* from, Vec into) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::atomic_ref<float>(const_cast<float&>(from[i])).load(std::memory_order_relaxed);
}

inline void store_elements(float* to, ConstVec from) {
  for (std::size_t i = 0; i < from.size(); ++i) std::atomic_ref<float>(to[i]).store(from[i], std::memory_order_relaxed);
}

inline void add_elements(float* to, ConstVec from) {
  for (std::size_t i = 0; i < from.size(); ++i) std::atomic_ref<float>(to[i]).fetch_add(from[i], std::memory_order_relaxed);
}

}  // namespace mgcompare
