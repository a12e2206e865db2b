#include "base/debugger.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/descendants.h"
#include "base/named_values.h"

namespace mgcompare {
namespace {

// 0: none.
pid_t tracer_of(pid_t process) {
  return static_cast<pid_t>(number_in("/proc/" + std::to_string(process) + "/status", "TracerPid:").value_or(0));
}

}  // namespace

bool is_debugged() {
  const std::vector<pid_t> own = descendants();
  // A plugin could make a child trace it, which must not lift the limits of its trial.
  return std::any_of(own.begin(), own.end(), [&](pid_t process) {
    const pid_t tracer = tracer_of(process);
    return tracer != 0 && !std::binary_search(own.begin(), own.end(), tracer);
  });
}

}  // namespace mgcompare
