#pragma once

// One split of a data set in the memory of a CPU device; gathers its samples into the input of a network.

#include <cstdint>
#include <memory>

#include "cpu/layer.h"
#include "data/dataset.h"
#include "model/preparation.h"
#include "mgcompare/device.h"
#include "model/network.h"

namespace mgcompare {

class CpuFeed : public Feed {
 public:
  CpuFeed(Device& device, const SampleSpec& spec, const Split& split, const Preparation& preparation);
  std::size_t samples() const override { return split_.samples; }
  const Shape& sample_shape() const override { return shape_; }
  // Throws Error if an index is not below samples(). The initial order is that of the data set.
  void set_order(Span<const std::uint32_t> order) override;
  void read(std::size_t first, std::size_t count, const Pass& pass, Vec to) override;
  double seconds() const override { return seconds_; }

  // Sample indices at positions [first, first + count) of the order. Throws Error if the order is shorter.
  Span<const std::uint32_t> ids(std::size_t first, std::size_t count) const;
  // Writes these samples, prepared for the pass, in the layout of `tensor`.
  void gather(Span<const std::uint32_t> ids, const Pass& pass, Tensor& tensor) const;
  // Copies the targets of these samples: targets_per_sample() for each.
  void targets(Span<const std::uint32_t> ids, Span<std::uint32_t> to) const;
  std::size_t targets_per_sample() const { return targets_; }

 private:
  // `row` gives the address of the values of the i-th sample.
  template <class Row> void scale(std::size_t samples, float factor, Tensor& tensor, Row row) const;
  template <class Value> void prepare(Span<const std::uint32_t> ids, const Pass& pass, Tensor& tensor) const;
  template <class Value> void write(Span<const std::uint32_t> ids, const Pass& pass, Tensor& tensor) const;

  Device& device_;
  Shape shape_;
  std::size_t features_, targets_;
  ElementType element_;
  Preparation preparation_;
  Split split_;                     // shares the values with the data set
  Array<std::uint32_t> order_;
  mutable double seconds_ = 0;  // spent in gather(); only one rank uses a feed
};

// Shares the values of the split, which need not outlive the call.
std::unique_ptr<Feed> make_feed(Device& device, const SampleSpec& spec, const Split& split, const Preparation& preparation);

}  // namespace mgcompare
