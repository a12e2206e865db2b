#pragma once

// One split of a data set as bytes in the memory of a GPU; gathers its samples into the input of a network. The split can be
// kept in page-locked host memory instead, to measure the cost of input: then the samples of each pass are gathered on the
// host and copied through two staging buffers.

#include <cstdint>

#include "cuda/device.h"
#include "data/dataset.h"
#include "model/network.h"

namespace mgcompare::cuda {

class CudaFeed : public Feed {
 public:
  // Copies the split; it need not outlive the call.
  CudaFeed(CudaDevice& device, const Split& split, double scale, bool keep_on_host);
  ~CudaFeed() override;
  std::size_t samples() const override { return labels_.size(); }
  const Shape& sample_shape() const override { return shape_; }
  // Throws Error if an index is not below samples(). The initial order is that of the data set.
  void set_order(Span<const std::uint32_t> order) override;

  // Sample indices from position `first` of the order, in device memory. Throws Error if fewer than `count` follow.
  const std::uint32_t* order(std::size_t first, std::size_t count) const;
  // Writes the samples at these positions, bytes times the scale. A captured step adds its position offset.
  void gather(std::size_t first, std::size_t count, float* to);
  const std::uint8_t* labels() const { return labels_.data(); }
  std::uint8_t largest_label() const { return largest_label_; }
  bool on_host() const { return !host_bytes_.empty(); }

 private:
  void gather_on_host(std::size_t first, std::size_t count, float* to);

  // One of two; `free` is recorded when its content has been used.
  struct StagingBuffer {
    Array<std::uint8_t> host, device;
    cudaEvent_t free = nullptr;
  };

  CudaDevice& device_;
  Shape shape_;
  std::size_t features_;
  float scale_;
  std::uint8_t largest_label_ = 0;
  Array<std::uint8_t> bytes_, labels_, host_bytes_;
  Array<std::uint32_t> order_;
  Array<std::uint32_t> host_order_;  // page-locked
  StagingBuffer staging_[2];
  std::size_t next_staging_ = 0;
};

}  // namespace mgcompare::cuda
