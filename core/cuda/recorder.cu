#include "cuda/launch.h"
#include "mgcompare/error.h"
#include "cuda/recorder.h"

namespace mgcompare::cuda {
namespace {

constexpr char kWhat[] = "recording steps";

__device__ unsigned long long now_nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__device__ void go_to(StepState* state, const CudaGraphRecorder::Tables& tables, std::uint32_t step) {
  state->step = step;
  if (step >= tables.steps) return;
  state->begin = tables.begins[step];
  state->learning_rate = tables.rates[step];
}

__global__ void seek_step(StepState* state, CudaGraphRecorder::Tables tables, std::uint32_t step, std::uint32_t epoch) {
  state->epoch = epoch;
  go_to(state, tables, step);
  tables.stamps[step] = {now_nanoseconds(), 0};
}

__global__ void place_pass(StepState* state, std::uint32_t position, std::uint32_t epoch) {
  state->begin = position;
  state->epoch = epoch;
}

__global__ void next_step(StepState* state, CudaGraphRecorder::Tables tables, const DeviceTally* tally) {
  await_earlier();
  const std::uint32_t next = state->step + 1;
  tables.stamps[next] = {now_nanoseconds(), tally->loss};
  tables.seen[0] = tally->loss;
  tables.seen[1] = static_cast<double>(tally->samples);
  go_to(state, tables, next);
}

}  // namespace

CudaGraphRecorder::CudaGraphRecorder(CudaDevice& device, std::size_t steps)
    : device_(device), state_(device, 1), begins_(device, steps), rates_(device, steps), stamps_(device, steps + 1, true),
      seen_(device, 2, true) {}

CudaGraphRecorder::~CudaGraphRecorder() {
  if (recording_) {
    // A step failed: what was recorded of it is thrown away, or the stream stays unusable.
    cudaGraph_t unfinished = nullptr;
    cudaStreamEndCapture(device_.queue(), &unfinished);
    if (unfinished != nullptr) cudaGraphDestroy(unfinished);
    device_.set_cursor({});
  }
  cudaGetLastError();
  for (const Recording& recording : recordings_) {
    cudaGraphExecDestroy(recording.runnable);
    cudaGraphDestroy(recording.graph);
  }
}

CudaGraphRecorder::Tables CudaGraphRecorder::tables() const {
  return {begins_.data(), rates_.data(), stamps_.data(), seen_.data(), static_cast<std::uint32_t>(begins_.size())};
}

void CudaGraphRecorder::begin_epoch(std::size_t epoch, const std::vector<std::uint32_t>& begins,
                               const std::vector<float>& rates) {
  if (begins.size() > begins_.size()) throw Error("an epoch has more steps than were announced");
  epoch_ = epoch;
  seen_[0] = seen_[1] = 0;
  // Most epochs have the steps and the rates of the one before.
  if (begins != host_begins_) device_.copy_to_device(begins_.data(), begins.data(), begins.size() * sizeof(std::uint32_t));
  if (rates != host_rates_) device_.copy_to_device(rates_.data(), rates.data(), rates.size() * sizeof(float));
  host_begins_ = begins;
  host_rates_ = rates;
}

void CudaGraphRecorder::begin() {
  open_ = {};
  // Thread-local: other ranks of this process go on meanwhile.
  check(cudaStreamBeginCapture(device_.queue(), cudaStreamCaptureModeThreadLocal), kWhat);
  recording_ = true;
}

void CudaGraphRecorder::begin_step(std::size_t step) { device_.set_cursor({state_.data(), host_begins_.at(step)}); }

void CudaGraphRecorder::end_step() {
  launch(device_.queue(), 1, 1, 0, next_step, state_.data(), tables(), device_.tally());
  ++open_.length;
}

void CudaGraphRecorder::begin_pass(std::size_t position) {
  device_.set_cursor({state_.data(), static_cast<std::uint32_t>(position)});
}

std::size_t CudaGraphRecorder::end() {
  device_.set_cursor({});
  recording_ = false;
  check(cudaStreamEndCapture(device_.queue(), &open_.graph), kWhat);
  check(cudaGraphInstantiate(&open_.runnable, open_.graph, 0), kWhat);
  recordings_.push_back(open_);
  check(cudaGraphUpload(open_.runnable, device_.queue()), kWhat);
  device_.synchronize();
  return recordings_.size() - 1;
}

void CudaGraphRecorder::seek(std::size_t step) {
  sought_ = step;
  queued_ = 0;
  seen_[0] = seen_[1] = 0;
  seek_step<<<1, 1, 0, device_.queue()>>>(state_.data(), tables(), static_cast<std::uint32_t>(step),
                                          static_cast<std::uint32_t>(epoch_));
  check(cudaGetLastError(), kWhat);
}

void CudaGraphRecorder::place(std::size_t position, std::size_t epoch) {
  place_pass<<<1, 1, 0, device_.queue()>>>(state_.data(), static_cast<std::uint32_t>(position),
                                           static_cast<std::uint32_t>(epoch));
  check(cudaGetLastError(), kWhat);
}

void CudaGraphRecorder::repeat(std::size_t recording) {
  check(cudaGraphLaunch(recordings_.at(recording).runnable, device_.queue()), "repeating recorded steps");
  queued_ += recordings_[recording].length;
}

double CudaGraphRecorder::loss() const {
  const volatile double* const seen = seen_.data();
  const double samples = seen[1];
  return samples == 0 ? 0 : seen[0] / samples;
}

std::vector<GraphRecorder::StepRecord> CudaGraphRecorder::take_records() {
  device_.synchronize();
  std::vector<StepRecord> records;
  for (std::size_t k = sought_ + 1; k <= sought_ + queued_; ++k)
    records.push_back({static_cast<double>(stamps_[k].nanoseconds - stamps_[k - 1].nanoseconds) * 1e-9, stamps_[k].loss});
  queued_ = 0;
  return records;
}

}  // namespace mgcompare::cuda
