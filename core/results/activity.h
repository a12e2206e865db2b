#pragma once

// What a rank does at the moment. It is kept in memory that the worker shares with the runner, so that the runner can say what the
// ranks of a trial were doing when it made no progress any more.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace mgcompare {

// Written by the rank's thread, read by any number of others, in any processes. The calls take some nanoseconds and never wait.
class Activity {
 public:
  // The name of a call, such as "all_reduce", or another text in lower case, such as "own code": its first 15 characters are
  // kept. Null: nothing that is of interest.
  void set(const char* text);
  // Empty for nothing, and for other characters, from damaged memory. A text that is replaced meanwhile may be half of each.
  std::string get() const;

 private:
  std::array<std::atomic<std::uint64_t>, 2> words_{};
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share it");
};

}  // namespace mgcompare
