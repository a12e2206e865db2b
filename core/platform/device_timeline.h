#pragma once

// Records when a device reaches the boundaries between the phases of a step, by the device's own clock. Marks cost time, so
// only a few warm-up steps are marked. measure/step_breakdown.h evaluates the events.

#include <cstddef>
#include <vector>

#include "platform/phase.h"

namespace mgcompare {

// Work that is queued after a mark belongs to its phase, up to the next mark. Work in another stream (exchanges that overlap
// a backward pass) has marks of its own.
struct PhaseEvent {
  Phase phase = Phase::outside;
  bool beside = false;              // in another stream, overlapping the main one
  double at = 0;                    // seconds of the device's clock
};

class DeviceTimeline {
 public:
  virtual ~DeviceTimeline() = default;
  // Marks may be placed between these two calls.
  virtual void open() = 0;
  virtual void close() noexcept = 0;
  // Work queued from here on belongs to this phase. take() reports errors.
  virtual void mark(Phase phase) noexcept = 0;
  // Ends a captured graph: each replay appends a round of events. At most kRounds replays.
  static constexpr std::size_t kRounds = 5;
  virtual void end_round() = 0;
  // Waits for the device. Returns the events of each round, in the order of the calls.
  virtual std::vector<std::vector<PhaseEvent>> take() = 0;
  // Lower bound of the delay that a mark causes, in seconds: measured over many marks in a row.
  virtual double seconds_a_mark() const = 0;
  // The host's clock minus the device's, in seconds. Waits for the device.
  virtual double ahead() = 0;
};

}  // namespace mgcompare
