#pragma once

// When the exchanges of a rank begin and end, on the device's own clock: kernels that note the time, queued around each
// exchange and around the place where the rank's work waits for those that overlapped it.

#include <cstddef>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#include "mgcompare/device.h"

namespace mgcompare::cuda {

class Timeline {
 public:
  explicit Timeline(Device& device);

  void begin_exchange(cudaStream_t stream);
  // `beside`: it ran beside the rank's own work.
  void end_exchange(cudaStream_t stream, bool beside);
  void begin_wait(cudaStream_t stream);
  void end_wait(cudaStream_t stream);

  // Wait for the device before these two. Seconds of each exchange, and of all waits and exchanges that were not beside.
  std::vector<double> exchanges() const;
  double exposed() const;

 private:
  using Span = std::pair<std::size_t, std::size_t>;  // stamps
  std::size_t stamp(cudaStream_t stream);
  double seconds(const Span& span) const;

  Array<unsigned long long> stamps_;  // nanoseconds; on the host
  std::size_t next_ = 0;
  std::vector<Span> exchanges_, waits_;
};

}  // namespace mgcompare::cuda
