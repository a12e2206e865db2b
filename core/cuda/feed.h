#pragma once

// One split of a data set in the memory of a GPU; gathers its samples into the input of a network. The split can be
// kept in page-locked host memory instead, to measure the cost of input: then the samples of each pass are gathered on the
// host and copied through two staging buffers.

#include <cstdint>

#include "cuda/device.h"
#include "data/dataset.h"
#include "model/preparation.h"
#include "model/network.h"

namespace mgcompare::cuda {

class CudaFeed : public Feed {
 public:
  // Copies the split; it need not outlive the call.
  CudaFeed(CudaDevice& device, const SampleSpec& spec, const Split& split, const Preparation& preparation, bool keep_on_host);
  ~CudaFeed() override;
  std::size_t samples() const override { return samples_; }
  const Shape& sample_shape() const override { return shape_; }
  // Throws Error if an index is not below samples(). The initial order is that of the data set.
  void set_order(Span<const std::uint32_t> order) override;

  // Sample indices from position `first` of the order, in device memory. Throws Error if fewer than `count` follow.
  const std::uint32_t* order(std::size_t first, std::size_t count) const;
  // Writes the samples at these positions, prepared for the pass. A captured step adds its position offset and has its epoch.
  void gather(std::size_t first, std::size_t count, const Pass& pass, float* to);
  const std::uint32_t* targets() const { return targets_.data(); }
  std::uint32_t largest_target() const { return largest_target_; }
  bool on_host() const { return !host_bytes_.empty(); }

 private:
  void gather_on_host(std::size_t first, std::size_t count, const Pass& pass, float* to);
  // Writes `count` samples whose indices begin at `ids`; their values are at the places that `id_of` gives.
  template <class Id> void prepare(const std::uint8_t* values, const std::uint32_t* ids, std::size_t count, const Pass& pass,
                                   float* to, Id id_of);

  // One of two; `free` is recorded when its content has been used.
  struct StagingBuffer {
    Array<std::uint8_t> host, device;
    cudaEvent_t free = nullptr;
  };

  CudaDevice& device_;
  Shape shape_;
  std::size_t samples_, features_;
  std::size_t sample_bytes_;        // of one stored sample
  ElementType element_;
  Preparation preparation_;
  Array<float> channels_;           // mean of each channel, then 1 / standard deviation
  std::uint32_t largest_target_ = 0;
  Array<std::uint8_t> bytes_, host_bytes_;
  Array<std::uint32_t> targets_;
  Array<std::uint32_t> order_;
  Array<std::uint32_t> host_order_;  // page-locked
  StagingBuffer staging_[2];
  std::size_t next_staging_ = 0;
};

}  // namespace mgcompare::cuda
