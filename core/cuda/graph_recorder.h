#pragma once

// Captures steps as CUDA graphs and replays them. The position, learning rate and epoch of a step come from tables in device
// memory. A kernel at the end of each step advances to the next entry and stores the time.

#include <vector>

#include "cuda/device.h"
#include "platform/platform.h"

namespace mgcompare::cuda {

class CudaGraphRecorder : public GraphRecorder {
 public:
  CudaGraphRecorder(CudaDevice& device, std::size_t steps);
  ~CudaGraphRecorder() override;
  void begin_epoch(std::size_t epoch, const std::vector<std::uint32_t>& begins,
                   const std::vector<float>& rates) override;
  void begin() override;
  void begin_step(std::size_t step) override;
  void end_step() override;
  void begin_pass(std::size_t position) override;
  std::size_t end() override;
  void seek(std::size_t step) override;
  void place(std::size_t position, std::size_t epoch) override;
  void repeat(std::size_t recording) override;
  double loss() const override;
  std::vector<StepRecord> take_records() override;

  // Used by the kernels at the end of each step.
  struct Stamp {
    unsigned long long nanoseconds;
    double loss;
  };
  struct Tables {
    const std::uint32_t* begins;
    const float* rates;
    // In page-locked host memory, so that the host reads them without a copy:
    Stamp* stamps;                  // [s + 1] is the end of step s; the entry before the first step is the start
    volatile double* progress;      // loss and samples
    std::uint32_t steps;
  };

 private:
  struct CapturedGraph {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    std::size_t length = 0;         // steps
  };
  Tables tables() const;

  CudaDevice& device_;
  Array<StepState> state_;
  Array<std::uint32_t> begins_;
  Array<float> rates_;
  Array<Stamp> stamps_;             // on the host
  Array<double> progress_;          // on the host
  std::vector<std::uint32_t> host_begins_;
  std::vector<float> host_rates_;
  std::size_t epoch_ = 0;
  std::size_t first_step_ = 0;      // argument of the last seek()
  std::size_t steps_queued_ = 0;    // since the last seek()
  bool capturing_ = false;
  CapturedGraph current_;           // of the capture in progress
  std::vector<CapturedGraph> graphs_;
};

}  // namespace mgcompare::cuda
