#pragma once

// One split of a data set in the memory of a CPU device; gathers its samples into the input of a network.

#include <cstdint>
#include <memory>

#include "data/dataset.h"
#include "cpu/layer.h"
#include "mgcompare/device.h"
#include "model/network.h"

namespace mgcompare {

class CpuFeed : public Feed {
 public:
  CpuFeed(Device& device, const Split& split, double scale);
  std::size_t samples() const override { return labels_.size(); }
  const Shape& sample_shape() const override { return shape_; }
  // Throws Error if an index is not below samples(). The initial order is that of the data set.
  void set_order(Span<const std::uint32_t> order) override;
  double seconds() const override { return seconds_; }

  // Sample indices at positions [first, first + count) of the order. Throws Error if the order is shorter.
  Span<const std::uint32_t> ids(std::size_t first, std::size_t count) const;
  // Writes these samples, bytes times the scale, in the layout of `tensor`.
  void gather(Span<const std::uint32_t> ids, Tensor& tensor) const;
  // Copies the labels of these samples.
  void labels(Span<const std::uint32_t> ids, Span<std::uint8_t> to) const;

 private:
  void write(Span<const std::uint32_t> ids, Tensor& tensor) const;

  Device& device_;
  Shape shape_;
  std::size_t features_;
  float scale_;
  Array<std::uint8_t> bytes_, labels_;
  Array<std::uint32_t> order_;
  mutable double seconds_ = 0;  // spent in gather(); only one rank uses a feed
};

// Copies the split; it need not outlive the call.
std::unique_ptr<Feed> make_feed(Device& device, const Split& split, double scale);

}  // namespace mgcompare
