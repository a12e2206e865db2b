#pragma once

// Steps as a CUDA graph. The position, rate and epoch of a step come from tables in device memory, and a kernel behind
// each step moves on to the next row and notes the time.

#include <vector>

#include "device.h"
#include "platform.h"

namespace mgcompare::cuda {

class CudaRecorder : public Recorder {
 public:
  CudaRecorder(CudaDevice& device, std::size_t steps);
  ~CudaRecorder() override;
  void begin_epoch(std::size_t epoch, const std::vector<std::uint32_t>& begins,
                   const std::vector<float>& rates) override;
  void begin() override;
  void begin_step(std::size_t step) override;
  void end_step() override;
  void end() override;
  void seek(std::size_t step) override;
  void repeat() override;
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
    Stamp* stamps;                  // of step s at s + 1; where a run of steps began, before its first
    volatile double* seen;          // loss and samples, in host memory
    std::uint32_t steps;
  };

 private:
  Tables tables() const;
  void drop();

  CudaDevice& device_;
  Array<StepState> state_;
  Array<std::uint32_t> begins_;
  Array<float> rates_;
  Array<Stamp> stamps_;
  Array<double> seen_;              // on the host
  std::vector<std::uint32_t> host_begins_;
  std::size_t epoch_ = 0;
  std::size_t sought_ = 0;          // where the run of repetitions began
  std::size_t queued_ = 0;          // steps since then
  std::size_t length_ = 0;          // steps of one repetition
  bool recording_ = false;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t runnable_ = nullptr;
};

}  // namespace mgcompare::cuda
