#pragma once

// Steps as CUDA graphs. The position, rate and epoch of a step come from tables in device memory, and a kernel behind
// each step moves on to the next row and notes the time.

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

  // What the kernels behind the steps share.
  struct Stamp {
    unsigned long long nanoseconds;
    double loss;
  };
  struct Tables {
    const std::uint32_t* begins;
    const float* rates;
    // In host memory, so that reading them after a run of steps is no copy:
    Stamp* stamps;                  // of step s at s + 1; where a run of steps began, before its first
    volatile double* seen;          // loss and samples
    std::uint32_t steps;
  };

 private:
  struct Recording {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    std::size_t length = 0;         // steps
  };
  Tables tables() const;

  CudaDevice& device_;
  Array<StepState> state_;
  Array<std::uint32_t> begins_;
  Array<float> rates_;
  Array<Stamp> stamps_;             // on the host, like what was seen last
  Array<double> seen_;
  std::vector<std::uint32_t> host_begins_;
  std::vector<float> host_rates_;
  std::size_t epoch_ = 0;
  std::size_t sought_ = 0;          // where the run of repetitions began
  std::size_t queued_ = 0;          // steps since then
  bool recording_ = false;
  Recording open_;                  // what is being recorded
  std::vector<Recording> recordings_;
};

}  // namespace mgcompare::cuda
