#pragma once

// Timeline of a GPU. In a captured graph, a kernel that stores the device's clock (globaltimer) is queued where a phase begins: it is
// replayed with the work between such kernels. Where the host issues the steps, a CUDA event is recorded there, which costs the host
// a fraction of a launch.

#include <cstddef>
#include <exception>
#include <memory>
#include <type_traits>
#include <vector>

#include "cuda/device.h"
#include "platform/device_timeline.h"

namespace mgcompare::cuda {

class CudaTimeline : public DeviceTimeline {
 public:
  explicit CudaTimeline(CudaDevice& device);
  ~CudaTimeline() override { close(); }
  void open(bool capturing) override;
  void close() noexcept override { device_.set_timeline(nullptr); }
  void mark(Phase phase, const ExchangeSize& size = {}) noexcept override;
  void end_round() override;
  std::vector<std::vector<PhaseEvent>> take() override;
  double seconds_a_mark() const override { return device_.gpu().seconds_a_mark; }
  double ahead() override;

 private:
  using Nanoseconds = unsigned long long;
  struct DestroyEvent {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  };
  using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;
  static Event make_event();
  void record(cudaStream_t stream, std::size_t slot);
  double seconds_at(cudaEvent_t event) const;
  void stamp(cudaStream_t stream, std::size_t slot);
  void place(cudaStream_t stream, Phase phase, bool beside, const ExchangeSize& size = {});
  Nanoseconds read(std::size_t slot);
  double measure_mark();

  CudaDevice& device_;
  Array<Nanoseconds> stamps_;       // kMaxEvents for each round
  Array<unsigned> round_;
  Event origin_ = make_event();     // the time 0 of recorded events
  std::vector<Event> recorded_;     // more than were used, because making one takes as long as recording it
  std::vector<std::size_t> ends_;   // of rounds of recorded events
  bool capturing_ = false;
  std::vector<PhaseEvent> events_;  // of one round; their times are filled in by take()
  Phase compute_phase_ = Phase::outside, exchange_phase_ = Phase::outside;  // current phases of the two streams
  std::exception_ptr failure_;
};

}  // namespace mgcompare::cuda
