#pragma once

// How fast one trial was from stretch to stretch: its steps, cut into windows of equally many. Windows of a trial follow one
// another in the same process on the same weights, so they say how steady it was; they are never repeats.

#include <cstddef>
#include <utility>
#include <vector>

#include "results/result.h"

namespace mgcompare {

// From where rank 0 begins a step to where it begins the next.
struct Lap {
  double samples = 0;               // that all ranks trained meanwhile
  double seconds = 0;
};

// Those of a trial, from clocks that are read anyway. The last step of an epoch has none: it may be ragged, and ranks that
// run freely are done with it one after the other.
class Laps {
 public:
  void begin_epoch() { is_open_ = false; }
  // The host begins a step at this sample of the epoch.
  void begin_step(std::size_t sample, double now);
  // The device has made a step by itself. The host's step before it has no end that the host saw.
  void add(double samples, double seconds);

  const std::vector<Lap>& all() const { return all_; }
  void set(std::vector<Lap> laps) { all_ = std::move(laps); }

 private:
  std::vector<Lap> all_;
  bool is_open_ = false;
  std::size_t sample_ = 0;          // where the open lap began
  double began_ = 0;
};

// At least 30 steps each, and half a second each where the trial lasts long enough for more than three; twelve at most.
// None where there would not be two.
std::vector<WindowResult> windows_of(const std::vector<Lap>& laps);

}  // namespace mgcompare
