#pragma once

// Records when a device reaches the boundaries between the phases of a step, by a clock of the device. Marks cost time, so
// only some steps are marked. measure/step_breakdown.h evaluates the events.

#include <cstddef>
#include <vector>

#include "platform/phase.h"

namespace mgcompare {

// Work that is queued after a mark belongs to its phase, up to the next mark. Work in another stream (exchanges that overlap
// a backward pass) has marks of its own.
struct PhaseEvent {
  Phase phase = Phase::outside;
  bool beside = false;              // in another stream, overlapping the main one
  double at = 0;                    // seconds; marks that are captured have another clock than the others
  ExchangeSize size = {};           // of an exchange
};

class DeviceTimeline {
 public:
  virtual ~DeviceTimeline() = default;
  // Marks may be placed between these two calls. `capturing`: into a graph, whose replays repeat them.
  virtual void open(bool capturing) = 0;
  virtual void close() noexcept = 0;
  // Work queued from here on belongs to this phase; `size`: of an exchange. take() reports errors.
  virtual void mark(Phase phase, const ExchangeSize& size = {}) noexcept = 0;
  // Ends a round of marks. In a captured graph: each replay appends such a round, at most kRounds between two calls of take().
  static constexpr std::size_t kRounds = 16;
  virtual void end_round() = 0;
  // Waits for the device. Returns the events of each round since the last call, in the order of the calls. Marks that are not
  // captured are one round if none was ended.
  virtual std::vector<std::vector<PhaseEvent>> take() = 0;
  // Lower bound of the delay that a mark causes, in seconds: measured over many marks in a row.
  virtual double seconds_a_mark() const = 0;
  // The host's clock minus that of marks which are not captured, in seconds. Waits for the device. Call it before such marks, when
  // nothing depends on the time.
  virtual double ahead() = 0;
};

}  // namespace mgcompare
