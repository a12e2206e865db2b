#pragma once

// One split of a data set in the memory of a GPU; gathers its samples into the input of a network. The split can be kept in
// page-locked host memory instead, which the GPU reads itself: while it computes on one batch, a second stream copies the next
// one into one of two buffers. A batch that was not foreseen is read from the host when it is needed.

#include <cstdint>
#include <memory>

#include "cuda/device.h"
#include "cuda/element.h"
#include "data/dataset.h"
#include "model/preparation.h"
#include "model/network.h"

namespace mgcompare::cuda {

// A page-locked copy of a split's values, which all ranks of the process share.
class PageLockedValues;

// Which batch is in which of the two buffers. In device memory, so that captured steps need no host.
struct StagingPlan {
  struct Staged {
    std::uint32_t first, count;     // positions in the order; count 0: nothing
  };
  Staged staged[2];
  std::int32_t source;              // the buffer of the present batch; -1: it is read from the host
  std::int32_t target;              // the buffer for the next batch; -1: it is not known
  std::uint32_t next;               // its first position
};

class CudaFeed : public Feed {
 public:
  // Copies the split; it need not outlive the call.
  CudaFeed(CudaDevice& device, const SampleSpec& spec, const Split& split, const Preparation& preparation, bool keep_on_host);
  ~CudaFeed() override;
  std::size_t samples() const override { return samples_; }
  const Shape& sample_shape() const override { return shape_; }
  // Throws Error if an index is not below samples(). The initial order is that of the data set.
  void set_order(Span<const std::uint32_t> order) override;
  void read(std::size_t first, std::size_t count, const Pass& pass, Vec to) override {
    gather(first, count, pass, Element::fp32, to.data());
  }

  // Sample indices from position `first` of the order, in device memory. Throws Error if fewer than `count` follow.
  const std::uint32_t* order(std::size_t first, std::size_t count) const;
  // Writes the samples at these positions, prepared for the pass, in this type. A captured step adds its position offset and has its epoch.
  void gather(std::size_t first, std::size_t count, const Pass& pass, Element element, void* to);
  const std::uint32_t* targets() const { return targets_.data(); }
  std::uint32_t largest_target() const { return largest_target_; }
  bool on_host() const { return host_values_ != nullptr; }

 private:
  template <class T> void gather(std::size_t first, std::size_t count, const Pass& pass, T* to);
  template <class T> void gather_from_host(std::size_t first, std::size_t count, const Pass& pass, T* to);
  // Plans the buffers and starts to fetch the next batch.
  void stage(std::size_t first, std::size_t count);
  // Whether the buffers hold `count` samples; allocates them if possible.
  bool has_room(std::size_t count);
  // First position of the next batch, if the host issues batches at equal distances; negative: unknown.
  std::int64_t foreseen(std::size_t first);
  // Writes `count` samples whose indices begin at `ids`; `rows` gives the address of each.
  template <class T, class Rows> void prepare(const std::uint32_t* ids, std::size_t count, const Pass& pass, T* to, Rows rows);

  CudaDevice& device_;
  Shape shape_;
  std::size_t samples_, features_;
  std::size_t sample_bytes_;        // of one stored sample
  ElementType element_;
  Preparation preparation_;
  Array<float> channels_;           // mean of each channel, then 1 / standard deviation
  std::uint32_t largest_target_ = 0;
  Array<std::uint8_t> bytes_;
  Array<std::uint32_t> targets_;
  Array<std::uint32_t> order_;
  Array<std::uint32_t> host_order_;  // page-locked

  // On the host:
  std::shared_ptr<const PageLockedValues> host_values_;
  Array<std::uint8_t> staging_;     // two buffers of `room_` samples
  std::size_t room_ = 0;
  bool captured_ = false;           // graphs refer to the buffers
  Array<StagingPlan> plan_;
  // Of the last batches that the host issued:
  std::int64_t last_first_ = -1, last_foreseen_ = -1;
};

}  // namespace mgcompare::cuda
