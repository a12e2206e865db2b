#include "cpu/feed.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "base/clock.h"
#include "mgcompare/error.h"

namespace mgcompare {

CpuFeed::CpuFeed(Device& device, const Split& split, double scale)
    : device_(device),
      shape_(split.sample_shape),
      features_(std::accumulate(shape_.begin(), shape_.end(), std::size_t{1}, std::multiplies<>())),
      scale_(static_cast<float>(scale)),
      bytes_(device, split.bytes.size()),
      labels_(device, split.labels.size()),
      order_(device, split.labels.size()) {
  if (split.labels.size() != split.samples || split.bytes.size() != split.samples * features_) {
    throw Error(fmt::format("the data has {} samples but {} labels and {} bytes of {} each: load it again", split.samples,
                            split.labels.size(), split.bytes.size(), features_));
  }
  device.copy_to_device(bytes_.data(), split.bytes.data(), split.bytes.size());
  device.copy_to_device(labels_.data(), split.labels.data(), split.labels.size());
  std::iota(order_.data(), order_.data() + order_.size(), 0u);
}

void CpuFeed::set_order(Span<const std::uint32_t> order) {
  for (std::uint32_t id : order) {
    if (id >= samples()) throw Error(fmt::format("the sample order has index {}, but there are {} samples", id, samples()));
  }
  if (order.size() != order_.size()) order_ = Array<std::uint32_t>(device_, order.size());
  std::copy(order.begin(), order.end(), order_.data());
}

Span<const std::uint32_t> CpuFeed::ids(std::size_t first, std::size_t count) const {
  if (first > order_.size() || count > order_.size() - first) {
    throw Error(fmt::format("positions [{}, {}) are outside the sample order, which has {} positions", first, first + count,
                            order_.size()));
  }
  return {order_.data() + first, count};
}

void CpuFeed::gather(Span<const std::uint32_t> ids, Tensor& tensor) const {
  const double start = now();
  write(ids, tensor);
  seconds_ += now() - start;
}

void CpuFeed::write(Span<const std::uint32_t> ids, Tensor& tensor) const {
  if (!tensor.blocked) {
    for (std::size_t sample = 0; sample < ids.size(); ++sample) {
      const std::uint8_t* const from = bytes_.data() + ids[sample] * features_;
      float* const to = tensor.value + sample * features_;
      for (std::size_t i = 0; i < features_; ++i) to[i] = static_cast<float>(from[i]) * scale_;
    }
    return;
  }
  for (std::size_t first = 0; first < ids.size(); first += kLanes) {
    const std::size_t lanes = std::min(kLanes, ids.size() - first);
    float* const block = tensor.value + first * features_;
    // 64 features at a time, so that the bytes of 16 samples and the destination stay in the L1 cache.
    for (std::size_t begin = 0; begin < features_; begin += 64) {
      const std::size_t end = std::min(begin + 64, features_);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        if (lane >= lanes) {
          for (std::size_t i = begin; i < end; ++i) block[i * kLanes + lane] = 0;
          continue;
        }
        const std::uint8_t* const from = bytes_.data() + ids[first + lane] * features_;
        for (std::size_t i = begin; i < end; ++i) block[i * kLanes + lane] = static_cast<float>(from[i]) * scale_;
      }
    }
  }
}

void CpuFeed::labels(Span<const std::uint32_t> ids, Span<std::uint8_t> to) const {
  for (std::size_t i = 0; i < ids.size(); ++i) to[i] = labels_[ids[i]];
}

std::unique_ptr<Feed> make_feed(Device& device, const Split& split, double scale) {
  return std::make_unique<CpuFeed>(device, split, scale);
}

}  // namespace mgcompare
