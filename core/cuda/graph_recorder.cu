#include "cuda/graph_recorder.h"

#include "cuda/clearing.h"
#include "cuda/launch.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

constexpr char kWhat[] = "capturing steps";

__device__ unsigned long long now_nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__device__ void go_to(StepState* state, const CudaGraphRecorder::Tables& tables, std::uint32_t step) {
  state->step = step;
  if (step >= tables.steps) return;
  state->next_begin = step + 1 < tables.steps ? tables.begins[step + 1] : kNoStep;
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
  state->next_begin = kNoStep;
  state->epoch = epoch;
}

__global__ void next_step(StepState* state, CudaGraphRecorder::Tables tables, const DeviceTally* tally) {
  wait_for_previous_kernel();
  const std::uint32_t next = state->step + 1;
  tables.stamps[next] = {now_nanoseconds(), tally->loss};
  tables.progress[0] = tally->loss;
  tables.progress[1] = static_cast<double>(tally->predictions);
  go_to(state, tables, next);
}

}  // namespace

CudaGraphRecorder::CudaGraphRecorder(CudaDevice& device, std::size_t steps)
    : device_(device), state_(device, 1), begins_(device, steps), rates_(device, steps), stamps_(device, steps + 1, true),
      progress_(device, 2, true) {}

CudaGraphRecorder::~CudaGraphRecorder() {
  if (capturing_) {
    // A step failed during its capture. The capture must be ended, or the stream stays unusable.
    cudaGraph_t unfinished = nullptr;
    cudaStreamEndCapture(device_.compute_stream(), &unfinished);
    if (unfinished != nullptr) cudaGraphDestroy(unfinished);
    device_.set_captured_step({});
  }
  cudaGetLastError();
  for (const CapturedGraph& captured : graphs_) {
    cudaGraphExecDestroy(captured.runnable);
    cudaGraphDestroy(captured.graph);
  }
}

CudaGraphRecorder::Tables CudaGraphRecorder::tables() const {
  return {begins_.data(), rates_.data(), stamps_.data(), progress_.data(), static_cast<std::uint32_t>(begins_.size())};
}

void CudaGraphRecorder::begin_epoch(std::size_t epoch, const std::vector<std::uint32_t>& begins,
                               const std::vector<float>& rates) {
  if (begins.size() > begins_.size())
    throw Error("an epoch has " + std::to_string(begins.size()) + " steps, but its tables have room for " +
                std::to_string(begins_.size()));
  epoch_ = epoch;
  progress_[0] = progress_[1] = 0;
  // Most epochs have the same steps and rates as the previous one.
  if (begins != host_begins_) device_.copy_to_device(begins_.data(), begins.data(), begins.size() * sizeof(std::uint32_t));
  if (rates != host_rates_) device_.copy_to_device(rates_.data(), rates.data(), rates.size() * sizeof(float));
  host_begins_ = begins;
  host_rates_ = rates;
}

void CudaGraphRecorder::begin() {
  current_ = {};
  device_.join_input();  // a capture cannot wait for work that began before it
  // Thread-local: other ranks of this process may call CUDA meanwhile.
  check(cudaStreamBeginCapture(device_.compute_stream(), cudaStreamCaptureModeThreadLocal), kWhat);
  capturing_ = true;
}

void CudaGraphRecorder::begin_step(std::size_t step) { device_.set_captured_step({state_.data(), host_begins_.at(step), true}); }

void CudaGraphRecorder::end_step() {
  if (device_.fetching()) {
    DeviceTimeline* const timeline = device_.timeline();
    if (timeline != nullptr) timeline->mark(Phase::input);
    device_.join_input();
    if (timeline != nullptr) timeline->mark(Phase::outside);
  }
  launch(device_.compute_stream(), 1, 1, 0, next_step, state_.data(), tables(), device_.tally());
  ++current_.length;
}

void CudaGraphRecorder::begin_pass(std::size_t position) {
  device_.set_captured_step({state_.data(), static_cast<std::uint32_t>(position), false});
}

std::size_t CudaGraphRecorder::end() {
  device_.set_captured_step({});
  capturing_ = false;
  check(cudaStreamEndCapture(device_.compute_stream(), &current_.graph), kWhat);
  clear_by_kernels(current_.graph);
  check(cudaGraphInstantiate(&current_.runnable, current_.graph, 0), kWhat);
  graphs_.push_back(current_);
  check(cudaGraphUpload(current_.runnable, device_.compute_stream()), kWhat);
  device_.synchronize();
  return graphs_.size() - 1;
}

void CudaGraphRecorder::seek(std::size_t step) {
  first_step_ = step;
  steps_queued_ = 0;
  progress_[0] = progress_[1] = 0;
  seek_step<<<1, 1, 0, device_.compute_stream()>>>(state_.data(), tables(), static_cast<std::uint32_t>(step),
                                          static_cast<std::uint32_t>(epoch_));
  check(cudaGetLastError(), kWhat);
}

void CudaGraphRecorder::place(std::size_t position, std::size_t epoch) {
  place_pass<<<1, 1, 0, device_.compute_stream()>>>(state_.data(), static_cast<std::uint32_t>(position),
                                           static_cast<std::uint32_t>(epoch));
  check(cudaGetLastError(), kWhat);
}

void CudaGraphRecorder::repeat(std::size_t recording) {
  device_.join_input();
  check(cudaGraphLaunch(graphs_.at(recording).runnable, device_.compute_stream()), "replaying captured steps");
  steps_queued_ += graphs_[recording].length;
}

double CudaGraphRecorder::loss() const {
  const volatile double* const progress = progress_.data();
  const double samples = progress[1];
  return samples == 0 ? 0 : progress[0] / samples;
}

std::vector<GraphRecorder::StepRecord> CudaGraphRecorder::take_records() {
  device_.synchronize();
  std::vector<StepRecord> records;
  for (std::size_t k = first_step_ + 1; k <= first_step_ + steps_queued_; ++k)
    records.push_back({static_cast<double>(stamps_[k].nanoseconds - stamps_[k - 1].nanoseconds) * 1e-9, stamps_[k].loss});
  steps_queued_ = 0;
  return records;
}

}  // namespace mgcompare::cuda
