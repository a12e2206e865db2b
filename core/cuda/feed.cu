#include "cuda/feed.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>

#include "cuda/launch.h"
#include "model/augmentation.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

constexpr std::size_t kStagingSamples = 1024;

// Four pixels per thread if the sample size is a multiple of four. id(i) is the index of the i-th sample.
template <class Id>
void scale_bytes(cudaStream_t stream, const std::uint8_t* bytes, std::size_t features, float scale, std::size_t count,
                 float* to, Id id) {
  if (features % 4 == 0) {
    const std::size_t words = features / 4;
    for_each_index(stream, count * words, [=] __device__(std::size_t i) {
      const std::size_t sample = i / words, word = i % words;
      const uchar4 four = reinterpret_cast<const uchar4*>(bytes)[id(sample) * words + word];
      reinterpret_cast<float4*>(to)[i] = make_float4(static_cast<float>(four.x) * scale, static_cast<float>(four.y) * scale,
                                                     static_cast<float>(four.z) * scale, static_cast<float>(four.w) * scale);
    });
    return;
  }
  for_each_index(stream, count * features, [=] __device__(std::size_t i) {
    to[i] = static_cast<float>(bytes[id(i / features) * features + i % features]) * scale;
  });
}

struct Permuted {
  const std::uint32_t* order;
  CapturedStep captured_step;
  __device__ std::size_t operator()(std::size_t sample) const { return order[sample + captured_step.position_offset()]; }
};

struct Contiguous {
  __device__ std::size_t operator()(std::size_t sample) const { return sample; }
};

// What prepare_values() needs besides the values.
struct PreparedForm {
  unsigned channels, height, width;  // of an image; otherwise width is the values of a channel
  float scale;
  const float* mean;                 // of each channel, then 1 / standard deviation; null: 0 and 1
  bool augments, flip;
  unsigned padding;
};

// One value per thread. `id` gives the place of the i-th sample in `values`, `order` its index in the data set.
template <class Value, class Id>
void prepare_values(cudaStream_t stream, const Value* values, const PreparedForm& form, const Pass& pass, Permuted order,
                    std::size_t count, float* to, Id id) {
  const std::size_t plane = static_cast<std::size_t>(form.height) * form.width, features = plane * form.channels;
  const std::uint64_t seed = pass.seed, epoch = pass.epoch;
  for_each_index(stream, count * features, [=] __device__(std::size_t i) {
    const std::size_t sample = i / features, within = i % features, channel = within / plane, place = within % plane;
    std::int64_t source = static_cast<std::int64_t>(place);
    if (form.augments) {
      const Augmentation augmentation(seed, order.captured_step.epoch(epoch), form.flip, form.padding);
      source = augmentation.view(order(sample)).source(static_cast<std::int32_t>(place / form.width),
                                                       static_cast<std::int32_t>(place % form.width),
                                                       static_cast<std::int32_t>(form.height), static_cast<std::int32_t>(form.width));
    }
    const float value = source < 0 ? 0.0f : static_cast<float>(values[id(sample) * features + channel * plane + source]);
    to[i] = form.mean == nullptr ? value * form.scale
                                 : (value * form.scale - form.mean[channel]) * form.mean[form.channels + channel];
  });
}

}  // namespace

CudaFeed::CudaFeed(CudaDevice& device, const SampleSpec& spec, const Split& split, const Preparation& preparation, bool keep_on_host)
    : device_(device),
      shape_(spec.shape),
      samples_(split.samples),
      features_(std::accumulate(shape_.begin(), shape_.end(), std::size_t{1}, std::multiplies<>())),
      sample_bytes_(features_ * size_of(spec.element)),
      element_(spec.element),
      preparation_(preparation) {
  if (split.targets.size() != split.samples * spec.targets || split.values.size() != split.samples * sample_bytes_) {
    throw Error("the data has " + std::to_string(split.samples) + " samples but " + std::to_string(split.targets.size()) +
                " targets and " + std::to_string(split.values.size()) + " bytes of " + std::to_string(sample_bytes_) +
                " each: load it again");
  }
  targets_ = device_array<std::uint32_t>(device, split.targets.size());
  device.copy_to_device(targets_.data(), split.targets.data(), split.targets.size() * sizeof(std::uint32_t));
  for (const std::uint32_t target : split.targets) largest_target_ = std::max(largest_target_, target);
  if (!preparation.mean.empty()) {
    channels_ = device_array<float>(device, 2 * preparation.mean.size());
    device.copy_to_device(channels_.data(), preparation.mean.data(), preparation.mean.size() * sizeof(float));
    device.copy_to_device(channels_.data() + preparation.mean.size(), preparation.inverse_std.data(),
                          preparation.inverse_std.size() * sizeof(float));
  }
  if (keep_on_host) {
    host_bytes_ = host_array<std::uint8_t>(device, split.values.size());
    std::memcpy(host_bytes_.data(), split.values.data(), split.values.size());
    for (StagingBuffer& staging : staging_) {
      staging.host = host_array<std::uint8_t>(device, kStagingSamples * sample_bytes_);
      staging.device = device_array<std::uint8_t>(device, kStagingSamples * sample_bytes_);
      check(cudaEventCreateWithFlags(&staging.free, cudaEventDisableTiming), "creating an event");
    }
  } else {
    bytes_ = device_array<std::uint8_t>(device, split.values.size());
    device.copy_to_device(bytes_.data(), split.values.data(), split.values.size());
  }
  std::vector<std::uint32_t> identity(split.samples);
  std::iota(identity.begin(), identity.end(), 0u);
  set_order({identity.data(), identity.size()});
  device.synchronize();
}

CudaFeed::~CudaFeed() {
  for (const StagingBuffer& staging : staging_)
    if (staging.free != nullptr) cudaEventDestroy(staging.free);
}

void CudaFeed::set_order(Span<const std::uint32_t> order) {
  const auto beyond = std::find_if(order.begin(), order.end(), [all = samples()](std::uint32_t id) { return id >= all; });
  if (beyond != order.end())
    throw Error("the sample order has index " + std::to_string(*beyond) + ", but there are " + std::to_string(samples()) +
                " samples");
  if (order.size() != order_.size()) {
    order_ = device_array<std::uint32_t>(device_, order.size());
    host_order_ = host_array<std::uint32_t>(device_, order.size());
  }
  device_.synchronize();  // the copy of an earlier order may be in progress
  std::copy(order.begin(), order.end(), host_order_.data());
  device_.copy_to_device(order_.data(), host_order_.data(), order.bytes());
}

const std::uint32_t* CudaFeed::order(std::size_t first, std::size_t count) const {
  if (first > order_.size() || count > order_.size() - first) {
    throw Error("positions [" + std::to_string(first) + ", " + std::to_string(first + count) +
                ") are outside the sample order, which has " + std::to_string(order_.size()) + " positions");
  }
  return order_.data() + first;
}

template <class Id>
void CudaFeed::prepare(const std::uint8_t* values, const std::uint32_t* ids, std::size_t count, const Pass& pass, float* to,
                       Id id_of) {
  const cudaStream_t stream = device_.compute_stream();
  const bool augments = preparation_.augments() && pass.training;
  if (element_ == ElementType::uint8 && preparation_.mean.empty() && !augments)
    return scale_bytes(stream, values, features_, preparation_.scale, count, to, id_of);
  PreparedForm form{static_cast<unsigned>(shape_.front()), 1, static_cast<unsigned>(features_ / shape_.front()), preparation_.scale,
                    preparation_.mean.empty() ? nullptr : channels_.data(), augments, preparation_.flip,
                    static_cast<unsigned>(preparation_.crop_padding)};
  if (augments) {
    form.height = static_cast<unsigned>(shape_[1]);
    form.width = static_cast<unsigned>(shape_[2]);
  }
  const Permuted order{ids, device_.captured_step()};
  switch (element_) {
    case ElementType::uint8: return prepare_values(stream, values, form, pass, order, count, to, id_of);
    case ElementType::float32: return prepare_values(stream, reinterpret_cast<const float*>(values), form, pass, order, count, to, id_of);
    case ElementType::int32:
      return prepare_values(stream, reinterpret_cast<const std::int32_t*>(values), form, pass, order, count, to, id_of);
    case ElementType::int64:
      return prepare_values(stream, reinterpret_cast<const std::int64_t*>(values), form, pass, order, count, to, id_of);
  }
}

void CudaFeed::gather(std::size_t first, std::size_t count, const Pass& pass, float* to) {
  const std::uint32_t* const ids = order(first, count);
  if (on_host()) gather_on_host(first, count, pass, to);
  else prepare(bytes_.data(), ids, count, pass, to, Permuted{ids, device_.captured_step()});
}

void CudaFeed::gather_on_host(std::size_t first, std::size_t count, const Pass& pass, float* to) {
  for (std::size_t done = 0; done < count; done += kStagingSamples) {
    const std::size_t some = std::min(kStagingSamples, count - done);
    StagingBuffer& staging = staging_[next_staging_++ % 2];
    check(cudaEventSynchronize(staging.free), "waiting for a buffer of samples");
    for (std::size_t i = 0; i < some; ++i)
      std::memcpy(staging.host.data() + i * sample_bytes_, host_bytes_.data() + host_order_[first + done + i] * sample_bytes_,
                  sample_bytes_);
    device_.copy_to_device(staging.device.data(), staging.host.data(), some * sample_bytes_);
    prepare(staging.device.data(), order(first + done, some), some, pass, to + done * features_, Contiguous());
    check(cudaEventRecord(staging.free, device_.compute_stream()), "copying samples");
  }
}

}  // namespace mgcompare::cuda
