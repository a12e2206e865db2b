#pragma once

// What one rank's strategy moved in its steps, by the call that moved it. Used by that rank's thread.

#include <cstdint>
#include <string_view>
#include <vector>

namespace mgcompare {

class Ledger {
 public:
  struct Entry {
    std::string_view call;  // "all_reduce"; text that lives as long as the program
    std::uint64_t calls = 0;
    double bytes = 0;  // sent by this rank, as Group counts them
  };

  // Calls outside of steps (start, settle, checkpoints) are not entered.
  void open(bool open) { open_ = open; }
  void enter(std::string_view call, double bytes) {
    if (!open_) return;
    for (Entry& entry : entries_) {
      if (entry.call != call) continue;
      ++entry.calls;
      entry.bytes += bytes;
      return;
    }
    entries_.push_back({call, 1, bytes});
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  bool open_ = false;
  std::vector<Entry> entries_;
};

}  // namespace mgcompare
