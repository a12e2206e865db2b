#pragma once

// Measures the parts of some steps of a training whose steps the host issues, on a device with a clock of its own. The marks make these
// steps longer, so few are measured, and their parts are scaled to the mean time of the others.

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "measure/step_breakdown.h"
#include "measure/step_clock.h"
#include "platform/device_timeline.h"

namespace mgcompare {

class StepSampler {
 public:
  // One of `every` steps is measured. All ranks in lockstep need the same number: they measure the same steps.
  StepSampler(std::unique_ptr<DeviceTimeline> timeline, std::size_t every) : timeline_(std::move(timeline)), every_(every) {}

  // Before steps are made, outside of the training clock. Waits for the device.
  void prepare() { ahead_ = timeline_->ahead(); }
  // Whether the step is measured; `made`: steps before it in the training. A strategy may do something every few steps: whatever their
  // number, the measured steps are spread evenly over them.
  bool is_due(std::size_t made) const;
  // A step of full size that was not measured.
  void add(double seconds) { ++others_, seconds_of_others_ += seconds; }

  // Measures a step while the scope exists. The device must have ended the step's work when it ends.
  class Scope {
   public:
    Scope(StepSampler& sampler, StepClock& clock);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StepSampler& sampler_;
    StepClock& clock_;
    StepClock::TimelineScope marking_;
  };

  // The mean of all steps measured so far, if there were any since the last call. Few steps of one epoch would say little about a
  // strategy whose steps differ. Outside of the training clock.
  std::optional<StepBreakdown> take();

 private:
  std::unique_ptr<DeviceTimeline> timeline_;
  std::size_t every_;
  std::size_t others_ = 0;          // steps that were not measured
  double seconds_of_others_ = 0;
  StepBreakdown sum_;               // of the measured ones
  std::size_t measured_ = 0;
  double ahead_ = 0;                // the host's clock minus the device's
  std::vector<std::vector<StepClock::Span>> spans_;  // of each measured step
};

}  // namespace mgcompare
