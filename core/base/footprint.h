#pragma once

// What this process holds that outlives a training and can disturb the next one.

#include <cstddef>
#include <limits>
#include <string>

#include "base/settings.h"

namespace mgcompare {

// A number of entries that could not be read: a process without a free descriptor cannot open a folder.
inline constexpr std::size_t kUncountable = std::numeric_limits<std::size_t>::max();

struct Footprint {
  std::size_t threads = 0;
  std::size_t descriptors = 0;      // open ones
  std::size_t processes = 0;        // descendants (base/descendants.h)
  Settings settings = {};           // of the calling thread and of the process

  bool operator==(const Footprint&) const = default;
};

// Of the calling process.
Footprint footprint();
// The same, after threads and processes that are about to end have ended. Waits a short time for them if the footprint is
// not `expected`.
Footprint settled_footprint(const Footprint& expected);

// How `after` differs from `before`: "left 2 threads and 1 open descriptor", "ended 1 open descriptor of the program", "changed the
// rounding mode"; "" if it does not.
std::string difference(const Footprint& before, const Footprint& after);

}  // namespace mgcompare
