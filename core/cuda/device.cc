#include "cuda/device.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <cstring>

#include "mgcompare/error.h"

namespace mgcompare::cuda {

DeviceGuard::DeviceGuard() { check(cudaGetDevice(&previous_), "querying the current device"); }

DeviceGuard::DeviceGuard(int index) : DeviceGuard() {
  if (previous_ != index) check(cudaSetDevice(index), "setting the current device");
}

DeviceGuard::~DeviceGuard() { cudaSetDevice(previous_); }

int device_attribute(int index, cudaDeviceAttr attribute) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, index), "querying an attribute of a device");
  return value;
}

bool Handles::finish() const noexcept {
  bool usable = true;
  for (const cudaStream_t each : {stream, exchange, branch, input}) usable = cudaStreamSynchronize(each) == cudaSuccess && usable;
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
  // Exchanges have the highest priority, since other devices wait for them. The branch has the lowest: it is usually joined at
  // the end of the pass. CUDA's lowest priority is the largest number.
  int lowest = 0, highest = 0;
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "creating a stream");
  const auto make = [](cudaStream_t* stream, int priority) {
    check(cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, priority), "creating a stream");
  };
  make(&handles->exchange, highest);
  make(&handles->stream, std::max(highest, lowest - 1));
  make(&handles->branch, lowest);
  make(&handles->input, lowest);
  for (cudaEvent_t* event : {&handles->fork, &handles->join, &handles->exchanged, &handles->input_begun, &handles->input_done})
    check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "creating an event");
  const auto start_cudnn = [this](cudnnHandle_t& cudnn, void*& workspace, cudaStream_t stream) {
    retry_without_idle_memory({this}, [&] { check(cudnnCreate(&cudnn), "starting cuDNN"); });
    check(cudnnSetStream(cudnn, stream), "starting cuDNN");
    workspace = retry_without_idle_memory({this}, [] { return allocate_device(kWorkspaceBytes); });
  };
  start_cudnn(handles->cudnn, handles->workspace, handles->stream);
  start_cudnn(handles->branch_cudnn, handles->branch_workspace, handles->branch);
  handles->blas = retry_without_idle_memory({this}, [&] { return std::make_unique<Blas>(handles->stream); });
  handles->branch_blas = retry_without_idle_memory({this}, [&] { return std::make_unique<Blas>(handles->branch); });
  return handles;
}

CudaDevice::CudaDevice(Gpu& gpu) : gpu_(gpu) {
  check(cudaSetDevice(gpu.index), "setting the current device");
  handles_ = gpu.take_handles();
}

CudaDevice::~CudaDevice() {
  // After an error the streams may be unusable, or the device lost: then leak the handles instead of reusing them.
  if (!handles_->finish()) {
    cudaGetLastError();
    static_cast<void>(handles_.release());
    return;
  }
  const std::lock_guard lock(gpu_.mutex);
  gpu_.idle.push_back(std::move(handles_));
}

void* CudaDevice::allocate(std::size_t bytes) {
  const DeviceGuard guard(gpu_.index);
  void* memory = retry_without_idle_memory({&gpu_}, [&] { return gpu_.memory.allocate(bytes); });
  // Wait for the compute stream: another stream may use the memory next.
  check(cudaMemsetAsync(memory, 0, bytes, compute_stream()), "clearing device memory");
  check(cudaStreamSynchronize(compute_stream()), "clearing device memory");
  return memory;
}

void CudaDevice::release(void* memory) noexcept {
  if (memory == nullptr) return;
  handles_->finish();
  gpu_.memory.release(memory);
}

void* CudaDevice::allocate_host(std::size_t bytes) {
  const DeviceGuard guard(gpu_.index);
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
  cudaStreamSynchronize(compute_stream());
  cudaFreeHost(memory);
}

void CudaDevice::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, joined_stream()), "copying on a device");
}

void CudaDevice::copy_to_host(void* host, const void* device, std::size_t bytes) {
  if (bytes != 0) check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, joined_stream()), "copying to the host");
}

void CudaDevice::copy_to_device(void* device, const void* host, std::size_t bytes) {
  if (bytes != 0) check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, joined_stream()), "copying to a device");
}

void CudaDevice::zero(void* memory, std::size_t bytes) {
  if (bytes != 0) check(cudaMemsetAsync(memory, 0, bytes, joined_stream()), "clearing device memory");
}

void CudaDevice::matmul(const Matmul& p) {
  join_branch();
  handles_->blas->multiply({.a = p.a, .b = p.b, .c = p.c, .m = p.m, .n = p.n, .k = p.k, .transpose_a = p.transpose_a,
                            .transpose_b = p.transpose_b, .alpha = p.alpha, .beta = p.beta},
                           Precision::fp32);
}

void CudaDevice::synchronize() { check(cudaStreamSynchronize(joined_stream()), "waiting for a device"); }

cudaStream_t CudaDevice::exchange_stream() {
  if (!overlap_) return compute_stream();
  check(cudaEventRecord(handles_->fork, compute_stream()), "starting an exchange");
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
  // Nothing is left to compute: the remaining exchange time is exposed.
  if (timeline_ != nullptr) timeline_->mark(Phase::transfer);
  check(cudaStreamWaitEvent(compute_stream(), handles_->exchanged), "ending an exchange");
  if (timeline_ != nullptr) timeline_->mark(Phase::compute);
}

cudaStream_t CudaDevice::fork_branch() {
  check(cudaEventRecord(handles_->fork, compute_stream()), "starting a branch");
  check(cudaStreamWaitEvent(handles_->branch, handles_->fork), "starting a branch");
  branching_ = true;
  marked_ = false;
  return handles_->branch;
}

void CudaDevice::mark_branch(cudaEvent_t mark) {
  check(cudaEventRecord(mark, handles_->branch), "marking a branch");
  last_mark_ = mark;
  marked_ = true;
}

bool CudaDevice::move_mark() {
  if (last_mark_ == nullptr) return false;
  mark_branch(last_mark_);
  return true;
}

void CudaDevice::join_branch(cudaEvent_t mark) const {
  if (!branching_) return;
  check(cudaStreamWaitEvent(compute_stream(), mark), "joining a branch");
  if (mark != last_mark_) return;
  last_mark_ = nullptr;
  branching_ = !marked_;
}

void CudaDevice::join_branch() const {
  if (!branching_) return;
  branching_ = false;
  last_mark_ = nullptr;
  check(cudaEventRecord(handles_->join, handles_->branch), "ending a branch");
  check(cudaStreamWaitEvent(compute_stream(), handles_->join), "ending a branch");
}

cudaStream_t CudaDevice::fork_input() {
  check(cudaEventRecord(handles_->input_begun, compute_stream()), "starting to fetch samples");
  check(cudaStreamWaitEvent(handles_->input, handles_->input_begun), "starting to fetch samples");
  fetching_ = true;
  return handles_->input;
}

void CudaDevice::join_input() {
  if (!fetching_) return;
  fetching_ = false;
  check(cudaEventRecord(handles_->input_done, handles_->input), "fetching samples");
  check(cudaStreamWaitEvent(compute_stream(), handles_->input_done), "fetching samples");
}

WindowMemory::WindowMemory(CudaDevice& device, std::size_t floats) : device_(device) {
  const DeviceGuard guard(device.index());
  Gpu& gpu = device.gpu_;
  void* const memory =
      retry_without_idle_memory({&gpu}, [&] { return gpu.window_memory.allocate(floats * sizeof(float)); });
  memory_ = {static_cast<float*>(memory), floats};
  device.zero(memory_.data(), memory_.bytes());
  device.synchronize();
  device.window_vector_ = memory_;
}

WindowMemory::~WindowMemory() {
  device_.handles().finish();
  device_.gpu_.window_memory.release(memory_.data());
  if (device_.window_vector_.data() == memory_.data()) device_.window_vector_ = {};
}

}  // namespace mgcompare::cuda
