#pragma once

// One split in the memory of a GPU, as bytes, and how its samples become the input of a network. Kept on the host instead
// (page-locked), the samples of each pass are gathered there and copied through two buffers in turn, so that the cost of
// input can be measured.

#include <cstdint>

#include "data/dataset.h"
#include "cuda/device.h"
#include "model/network.h"

namespace mgcompare::cuda {

class CudaFeed : public Feed {
 public:
  // Copies the split; it need not outlive the call.
  CudaFeed(CudaDevice& device, const Split& split, double scale, bool keep_on_host);
  ~CudaFeed() override;
  std::size_t samples() const override { return labels_.size(); }
  const Shape& sample_shape() const override { return shape_; }
  // Throws Error when an index is not below samples(). Until the first call the order is that of the data set.
  void set_order(Span<const std::uint32_t> order) override;

  // The order from position `first` on, in device memory; throws Error when there are not `count` more.
  const std::uint32_t* order(std::size_t first, std::size_t count) const;
  // Writes the samples of these positions, bytes times the scale. Positions follow the device's cursor.
  void gather(std::size_t first, std::size_t count, float* to);
  const std::uint8_t* labels() const { return labels_.data(); }
  std::uint8_t largest_label() const { return largest_label_; }
  bool on_host() const { return !host_bytes_.empty(); }

 private:
  void gather_on_host(std::size_t first, std::size_t count, float* to);

  // One of the two buffers on the way to the device.
  struct Stage {
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
  Stage stages_[2];
  std::size_t next_stage_ = 0;
};

}  // namespace mgcompare::cuda
