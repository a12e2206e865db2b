#pragma once

// A device's timeline: kernels that note the device's own clock, queued where a phase begins. They may be recorded and repeated
// with what they stand between.

#include <cstddef>
#include <exception>
#include <vector>

#include "platform/device_timeline.h"
#include "cuda/device.h"

namespace mgcompare::cuda {

class CudaTimeline : public DeviceTimeline {
 public:
  explicit CudaTimeline(CudaDevice& device);
  ~CudaTimeline() override { close(); }
  void open() override { device_.mark_on(this); }
  void close() noexcept override { device_.mark_on(nullptr); }
  void mark(Phase phase) noexcept override;
  void end_round() override;
  std::vector<std::vector<PhaseEvent>> take() override;
  double seconds_a_mark() const override { return device_.gpu().seconds_a_mark; }
  double ahead() override;

 private:
  using Nanoseconds = unsigned long long;
  void stamp(cudaStream_t stream, std::size_t slot);
  void place(cudaStream_t stream, Phase phase, bool beside);
  Nanoseconds read(std::size_t slot);
  double measure_mark();

  CudaDevice& device_;
  Array<Nanoseconds> stamps_;       // kMost of each round
  Array<unsigned> round_;
  std::vector<PhaseEvent> marks_;         // of a round, without their times
  Phase own_ = Phase::outside, beside_ = Phase::outside;  // that the two streams are in
  std::exception_ptr failure_;
};

}  // namespace mgcompare::cuda
