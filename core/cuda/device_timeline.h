#pragma once

// Timeline of a GPU: where a phase begins, a kernel is queued that stores the device's clock (globaltimer). These kernels can
// be captured and replayed with the work between them.

#include <cstddef>
#include <exception>
#include <vector>

#include "cuda/device.h"
#include "platform/device_timeline.h"

namespace mgcompare::cuda {

class CudaTimeline : public DeviceTimeline {
 public:
  explicit CudaTimeline(CudaDevice& device);
  ~CudaTimeline() override { close(); }
  void open() override { device_.set_timeline(this); }
  void close() noexcept override { device_.set_timeline(nullptr); }
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
  Array<Nanoseconds> stamps_;       // kMaxEvents for each round
  Array<unsigned> round_;
  std::vector<PhaseEvent> events_;  // of one round; their times are filled in by take()
  Phase compute_phase_ = Phase::outside, exchange_phase_ = Phase::outside;  // current phases of the two streams
  std::exception_ptr failure_;
};

}  // namespace mgcompare::cuda
