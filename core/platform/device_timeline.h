#pragma once

// When a rank's device comes to the places between the phases of a step, on the device's own clock: for a few steps on
// weights that are thrown away, since every mark takes its time too. What marks say is told by attribution.h.

#include <cstddef>
#include <vector>

#include "platform/phase.h"

namespace mgcompare {

// What the device has queued behind a mark is of its phase, up to the next mark. Work beside (exchanges that overlap a
// backward pass) has marks of its own.
struct PhaseEvent {
  Phase phase = Phase::outside;
  bool beside = false;
  double at = 0;                    // seconds
};

class DeviceTimeline {
 public:
  virtual ~DeviceTimeline() = default;
  // Marks are made between these two.
  virtual void open() = 0;
  virtual void close() noexcept = 0;
  // What is queued from here on is of this phase. An error is thrown by take().
  virtual void mark(Phase phase) noexcept = 0;
  // The end of a recording: what it notes when it is repeated stands behind what it noted before. Up to kRounds times.
  static constexpr std::size_t kRounds = 5;
  virtual void end_round() = 0;
  // Waits for the device. The marks in the order of the calls, for every round.
  virtual std::vector<std::vector<PhaseEvent>> take() = 0;
  // By how much a mark delays what is queued behind it, at least: many in a row.
  virtual double seconds_a_mark() const = 0;
  // The host's clock less the device's. Waits for the device.
  virtual double ahead() = 0;
};

}  // namespace mgcompare
