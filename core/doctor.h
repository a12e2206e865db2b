#pragma once

// Measures a machine's devices and links, with the very calls that strategies train with. Called in a worker.

#include <functional>
#include <string>
#include <vector>

#include "links.h"
#include "platform.h"

namespace mgcompare {

struct DoctorScope {
  std::size_t devices = 0;          // how many, from the first
  std::vector<std::size_t> groups;  // counts of devices whose all-reduce is timed, ascending
  bool brief = false;               // smaller sizes, fewer repeats, no arithmetic: before each run
};

// Throws what a device reports. `say` is told what comes next.
Links examine(Platform& platform, const DoctorScope& scope, const std::function<void(const std::string&)>& say);

}  // namespace mgcompare
