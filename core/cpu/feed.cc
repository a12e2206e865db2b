#include "cpu/feed.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/shape.h"
#include "cpu/kernels.h"
#include "mgcompare/error.h"
#include "model/augmentation.h"

namespace mgcompare {
namespace {

// The beginning of a sample. The hardware prefetcher loads the rest.
template <class Value> void prefetch(const Value* values, std::size_t count) {
  constexpr std::size_t kLine = 64 / sizeof(Value), kMost = 4096 / sizeof(Value);
  for (std::size_t i = 0; i < std::min(count, kMost); i += kLine) __builtin_prefetch(values + i);
}

template <class Value> void scaled(const Value* from, std::size_t count, float factor, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * factor;
}
void scaled(const std::uint8_t* from, std::size_t count, float factor, float* to) { kernels().scale_bytes(from, count, factor, to); }
void scaled(const float* from, std::size_t count, float factor, float* to) { kernels().scale_floats(from, count, factor, to); }

}  // namespace

CpuFeed::CpuFeed(Device& device, const SampleSpec& spec, const Split& split, const Preparation& preparation)
    : device_(device),
      shape_(spec.shape),
      features_(values_in(shape_)),
      targets_(spec.targets),
      element_(spec.element),
      preparation_(preparation),
      split_(split),
      order_(device, split.samples) {
  if (split.targets.size() != split.samples * targets_ || split.values.size() != split.samples * features_ * size_of(spec.element)) {
    throw Error(fmt::format("the data has {} samples but {} targets and {} bytes of {} each: load it again", split.samples,
                            split.targets.size(), split.values.size(), features_ * size_of(spec.element)));
  }
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

void CpuFeed::gather(Span<const std::uint32_t> ids, const Pass& pass, Tensor& tensor) const {
  const double start = now();
  if (!pass.inputs.empty()) {
    scale(ids.size(), 1, tensor, [&](std::size_t sample) { return pass.inputs.data() + sample * features_; });
  } else {
    switch (element_) {
      case ElementType::uint8: write<std::uint8_t>(ids, pass, tensor); break;
      case ElementType::float32: write<float>(ids, pass, tensor); break;
      case ElementType::int32: write<std::int32_t>(ids, pass, tensor); break;
      case ElementType::int64: write<std::int64_t>(ids, pass, tensor); break;
    }
  }
  seconds_ += now() - start;
}

void CpuFeed::read(std::size_t first, std::size_t count, const Pass& pass, Vec to) {
  Tensor rows;
  rows.shape = shape_;
  rows.features = features_;
  rows.value = to.data();
  gather(ids(first, count), pass, rows);
}

template <class Value> void CpuFeed::write(Span<const std::uint32_t> ids, const Pass& pass, Tensor& tensor) const {
  if (!preparation_.only_scales() && (!preparation_.mean.empty() || pass.training)) return prepare<Value>(ids, pass, tensor);
  const auto* const values = reinterpret_cast<const Value*>(split_.values.data());
  scale(ids.size(), preparation_.scale, tensor, [&](std::size_t sample) { return values + ids[sample] * features_; });
}

template <class Row> void CpuFeed::scale(std::size_t samples, float factor, Tensor& tensor, Row row) const {
  if (!tensor.blocked) {
    for (std::size_t sample = 0; sample < samples; ++sample) {
      // Samples are in random places.
      if (sample + 1 < samples) prefetch(row(sample + 1), features_);
      scaled(row(sample), features_, factor, tensor.value + sample * features_);
    }
    return;
  }
  for (std::size_t first = 0; first < samples; first += kLanes) {
    const std::size_t lanes = std::min(kLanes, samples - first);
    float* const block = tensor.value + first * features_;
    // 64 features at a time, so that the values of 16 samples and the destination stay in the L1 cache.
    for (std::size_t begin = 0; begin < features_; begin += 64) {
      const std::size_t end = std::min(begin + 64, features_);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        if (lane >= lanes) {
          for (std::size_t i = begin; i < end; ++i) block[i * kLanes + lane] = 0;
          continue;
        }
        const auto* const from = row(first + lane);
        for (std::size_t i = begin; i < end; ++i) block[i * kLanes + lane] = static_cast<float>(from[i]) * factor;
      }
    }
  }
}

template <class Value> void CpuFeed::prepare(Span<const std::uint32_t> ids, const Pass& pass, Tensor& tensor) const {
  const auto* const values = reinterpret_cast<const Value*>(split_.values.data());
  const bool augments = preparation_.augments() && pass.training;
  const Augmentation augmentation(pass.seed, pass.epoch, preparation_.flip, static_cast<std::uint32_t>(preparation_.crop_padding));
  const std::size_t plane = features_ / shape_.front();
  const auto width = static_cast<std::int32_t>(augments ? shape_[2] : plane), height = static_cast<std::int32_t>(augments ? shape_[1] : 1);
  const std::size_t step = tensor.blocked ? kLanes : 1;
  for (std::size_t sample = 0; sample < ids.size(); ++sample) {
    const Value* const from = values + ids[sample] * features_;
    float* to = tensor.value + (tensor.blocked ? sample / kLanes * features_ * kLanes + sample % kLanes : sample * features_);
    const Augmentation::View view = augments ? augmentation.view(ids[sample]) : Augmentation::View{0, 0, false};
    for (std::size_t channel = 0; channel < shape_.front(); ++channel) {
      const float mean = preparation_.mean.empty() ? 0 : preparation_.mean[channel];
      const float factor = preparation_.inverse_std.empty() ? 1 : preparation_.inverse_std[channel];
      for (std::int32_t row = 0; row < height; ++row) {
        for (std::int32_t column = 0; column < width; ++column, to += step) {
          const std::int64_t at = view.source(row, column, height, width);
          const float value = at < 0 ? 0 : static_cast<float>(from[channel * plane + static_cast<std::size_t>(at)]);
          *to = (value * preparation_.scale - mean) * factor;
        }
      }
    }
  }
  for (std::size_t lane = ids.size() % kLanes; tensor.blocked && lane != 0 && lane < kLanes; ++lane) {
    float* const block = tensor.value + ids.size() / kLanes * features_ * kLanes;
    for (std::size_t i = 0; i < features_; ++i) block[i * kLanes + lane] = 0;
  }
}

void CpuFeed::targets(Span<const std::uint32_t> ids, Span<std::uint32_t> to) const {
  for (std::size_t i = 0; i < ids.size(); ++i)
    std::copy_n(split_.targets.begin() + static_cast<std::ptrdiff_t>(ids[i] * targets_), targets_, to.data() + i * targets_);
}

std::unique_ptr<Feed> make_feed(Device& device, const SampleSpec& spec, const Split& split, const Preparation& preparation) {
  return std::make_unique<CpuFeed>(device, spec, split, preparation);
}

}  // namespace mgcompare
