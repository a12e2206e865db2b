#pragma once

// Limits the memory of this process while the object exists. Not for processes that use GPUs: their drivers reserve address
// space without using it.

#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <string>

namespace mgcompare {

// Bytes of private memory that this process has.
double held_memory();

// In GiB: 80 % of what the machine, or the control group of this process, has left.
double usual_memory_limit();

class MemoryLimit {
 public:
  // `gibibytes`: private memory beyond `held` bytes; 0: usual_memory_limit().
  explicit MemoryLimit(double gibibytes, double held = held_memory());
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  double gibibytes() const { return gibibytes_; }

 private:
  rlimit before_{};
  double gibibytes_;
};

// How many processes the kernel has killed for lack of memory since the machine started, by its counters in `file`. Nothing if
// it does not count them.
std::optional<std::uint64_t> out_of_memory_kills(const std::string& file);

}  // namespace mgcompare
