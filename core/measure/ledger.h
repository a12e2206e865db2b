#pragma once

// The traffic of one rank's strategy during steps, by call. Used by that rank's thread only.

#include <cstdint>
#include <string_view>
#include <vector>

namespace mgcompare {

class Ledger {
 public:
  struct Entry {
    std::string_view call;  // "all_reduce"; a string literal
    std::uint64_t calls = 0;
    double bytes = 0;  // sent by this rank, as Group counts them
    double payload = 0;  // of the whole vectors
  };

  // Calls outside of steps (start, settle, checkpoints) are not counted.
  void set_counting(bool counting) { counting_ = counting; }
  void add(std::string_view call, double bytes, double payload = 0) {
    if (!counting_) return;
    for (Entry& entry : entries_) {
      if (entry.call != call) continue;
      ++entry.calls;
      entry.bytes += bytes;
      entry.payload += payload;
      return;
    }
    entries_.push_back({call, 1, bytes, payload});
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  bool counting_ = false;
  std::vector<Entry> entries_;
};

}  // namespace mgcompare
