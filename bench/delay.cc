#include "delay.h"

#include "base/clock.h"
#ifdef __CUDACC__
#include "cuda/device.h"
#endif

namespace mgcompare {

void delay_host(double seconds) {
  const double end = now() + seconds;
  while (now() < end) {}
}

#ifdef __CUDACC__
namespace {

__global__ void wait(unsigned long long nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begin < nanoseconds);
}

}  // namespace
#endif

void delay_device(Device& device, double seconds, bool in_exchange) {
#ifdef __CUDACC__
  if (device.kind() == DeviceKind::cuda) {
    auto& gpu = static_cast<cuda::CudaDevice&>(device);
    wait<<<1, 1, 0, in_exchange ? gpu.exchange_stream() : static_cast<cudaStream_t>(gpu.stream())>>>(static_cast<unsigned long long>(1e9 * seconds));
    cuda::check(cudaGetLastError(), "a delay");
    return;
  }
#endif
  (void)device, (void)in_exchange;
  delay_host(seconds);
}

}  // namespace mgcompare
