#include "cuda/device.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <cstring>

#include "mgcompare/error.h"

namespace mgcompare::cuda {

Current::Current(int index) {
  check(cudaGetDevice(&former_), "asking for the current device");
  if (former_ != index) check(cudaSetDevice(index), "choosing a device");
}

Current::~Current() { cudaSetDevice(former_); }

bool Handles::finish() const noexcept {
  bool usable = true;
  for (const cudaStream_t each : {stream, exchange, branch}) usable = cudaStreamSynchronize(each) == cudaSuccess && usable;
  return usable;
}

std::unique_ptr<Handles> Gpu::take_handles() {
  {
    const std::lock_guard lock(mutex);
    if (!idle.empty()) {
      std::unique_ptr<Handles> handles = std::move(idle.back());
      idle.pop_back();
      return handles;
    }
  }
  auto handles = std::make_unique<Handles>();
  // An exchange beside large kernels gets the next processor that falls free: other devices wait for it too. A branch can
  // wait: it is mostly joined when the pass ends.
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "making a stream");
  const auto make = [](cudaStream_t* stream, int priority) {
    check(cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, priority), "making a stream");
  };
  make(&handles->exchange, greatest);
  make(&handles->stream, std::max(greatest, least - 1));
  make(&handles->branch, least);
  for (cudaEvent_t* event : {&handles->fork, &handles->join, &handles->exchanged})
    check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "making an event");
  with_room({this}, [&] { check(cudnnCreate(&handles->cudnn), "starting cuDNN"); });
  check(cudnnSetStream(handles->cudnn, handles->stream), "starting cuDNN");
  handles->workspace = with_room({this}, [] { return allocate_device(kWorkspaceBytes); });
  handles->blas = with_room({this}, [&] { return std::make_unique<Blas>(handles->stream); });
  handles->branch_blas = with_room({this}, [&] { return std::make_unique<Blas>(handles->branch); });
  return handles;
}

CudaDevice::CudaDevice(Gpu& gpu) : gpu_(gpu) {
  check(cudaSetDevice(gpu.index), "choosing a device");
  handles_ = gpu.take_handles();
}

CudaDevice::~CudaDevice() {
  // After an error a stream may be unusable, or the device gone: then the handles are dropped.
  if (!handles_->finish()) {
    cudaGetLastError();
    static_cast<void>(handles_.release());
    return;
  }
  const std::lock_guard lock(gpu_.mutex);
  gpu_.idle.push_back(std::move(handles_));
}

void* CudaDevice::allocate(std::size_t bytes) {
  const Current current(gpu_.index);
  void* memory = with_room({&gpu_}, [&] { return gpu_.memory.take(bytes); });
  // On the rank's stream and waited for: other streams may use the memory next.
  check(cudaMemsetAsync(memory, 0, bytes, queue()), "clearing device memory");
  check(cudaStreamSynchronize(queue()), "clearing device memory");
  return memory;
}

void CudaDevice::release(void* memory) noexcept {
  if (memory == nullptr) return;
  handles_->finish();
  gpu_.memory.give(memory);
}

void* CudaDevice::allocate_host(std::size_t bytes) {
  const Current current(gpu_.index);
  void* memory = nullptr;
  const cudaError_t status = cudaHostAlloc(&memory, bytes == 0 ? 1 : bytes, cudaHostAllocPortable);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    struct sysinfo info {};
    sysinfo(&info);
    throw OutOfMemory(bytes, info.freeram * info.mem_unit, info.totalram * info.mem_unit);
  }
  check(status, "allocating page-locked host memory");
  std::memset(memory, 0, bytes);
  return memory;
}

void CudaDevice::release_host(void* memory) noexcept {
  if (memory == nullptr) return;
  cudaStreamSynchronize(queue());
  cudaFreeHost(memory);
}

void CudaDevice::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, settled()), "copying on a device");
}

void CudaDevice::copy_to_host(void* host, const void* device, std::size_t bytes) {
  if (bytes != 0) check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, settled()), "copying to the host");
}

void CudaDevice::copy_to_device(void* device, const void* host, std::size_t bytes) {
  if (bytes != 0) check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, settled()), "copying to a device");
}

void CudaDevice::zero(void* memory, std::size_t bytes) {
  if (bytes != 0) check(cudaMemsetAsync(memory, 0, bytes, settled()), "clearing device memory");
}

void CudaDevice::matmul(const Matmul& p) {
  join_branch();
  handles_->blas->multiply(p, Precision::fp32);
}

void CudaDevice::synchronize() { check(cudaStreamSynchronize(settled()), "waiting for a device"); }

cudaStream_t CudaDevice::exchange_stream() {
  if (!overlap_) return queue();
  check(cudaEventRecord(handles_->fork, queue()), "starting an exchange");
  check(cudaStreamWaitEvent(handles_->exchange, handles_->fork), "starting an exchange");
  if (branching_) {
    check(cudaEventRecord(handles_->join, handles_->branch), "starting an exchange");
    check(cudaStreamWaitEvent(handles_->exchange, handles_->join), "starting an exchange");
  }
  exchanging_ = true;
  return handles_->exchange;
}

void CudaDevice::join_exchanges() {
  if (!exchanging_) return;
  exchanging_ = false;
  check(cudaEventRecord(handles_->exchanged, handles_->exchange), "ending an exchange");
  // Until they are done the rank has nothing else to do.
  if (timeline_ != nullptr) timeline_->mark(Phase::transfer);
  check(cudaStreamWaitEvent(queue(), handles_->exchanged), "ending an exchange");
  if (timeline_ != nullptr) timeline_->mark(Phase::compute);
}

cudaStream_t CudaDevice::fork_branch() {
  check(cudaEventRecord(handles_->fork, queue()), "starting a branch");
  check(cudaStreamWaitEvent(handles_->branch, handles_->fork), "starting a branch");
  branching_ = true;
  return handles_->branch;
}

void CudaDevice::join_branch() const {
  if (!branching_) return;
  branching_ = false;
  check(cudaEventRecord(handles_->join, handles_->branch), "ending a branch");
  check(cudaStreamWaitEvent(queue(), handles_->join), "ending a branch");
}

Window::Window(CudaDevice& device, std::size_t floats) : device_(device) {
  const Current current(device.index());
  Gpu& gpu = device.gpu_;
  memory_ = {static_cast<float*>(with_room({&gpu}, [&] { return gpu.windows.take(floats * sizeof(float)); })), floats};
  device.zero(memory_.data(), memory_.bytes());
  device.synchronize();
  device.window_ = memory_;
}

Window::~Window() {
  device_.handles().finish();
  device_.gpu_.windows.give(memory_.data());
  if (device_.window_.data() == memory_.data()) device_.window_ = {};
}

}  // namespace mgcompare::cuda
