#include "cuda/feed.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>

#include "cuda/launch.h"
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

}  // namespace

CudaFeed::CudaFeed(CudaDevice& device, const Split& split, double scale, bool keep_on_host)
    : device_(device),
      shape_(split.sample_shape),
      features_(std::accumulate(shape_.begin(), shape_.end(), std::size_t{1}, std::multiplies<>())),
      scale_(static_cast<float>(scale)) {
  if (split.labels.size() != split.samples || split.bytes.size() != split.samples * features_) {
    throw Error("the data has " + std::to_string(split.samples) + " samples but " + std::to_string(split.labels.size()) +
                " labels and " + std::to_string(split.bytes.size()) + " bytes of " + std::to_string(features_) +
                " each: load it again");
  }
  labels_ = device_array<std::uint8_t>(device, split.labels.size());
  device.copy_to_device(labels_.data(), split.labels.data(), split.labels.size());
  for (const std::uint8_t label : split.labels) largest_label_ = std::max(largest_label_, label);
  if (keep_on_host) {
    host_bytes_ = host_array<std::uint8_t>(device, split.bytes.size());
    std::memcpy(host_bytes_.data(), split.bytes.data(), split.bytes.size());
    for (StagingBuffer& staging : staging_) {
      staging.host = host_array<std::uint8_t>(device, kStagingSamples * features_);
      staging.device = device_array<std::uint8_t>(device, kStagingSamples * features_);
      check(cudaEventCreateWithFlags(&staging.free, cudaEventDisableTiming), "creating an event");
    }
  } else {
    bytes_ = device_array<std::uint8_t>(device, split.bytes.size());
    device.copy_to_device(bytes_.data(), split.bytes.data(), split.bytes.size());
  }
  std::vector<std::uint32_t> identity(split.labels.size());
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

void CudaFeed::gather(std::size_t first, std::size_t count, float* to) {
  const std::uint32_t* const ids = order(first, count);
  if (on_host()) gather_on_host(first, count, to);
  else
    scale_bytes(device_.compute_stream(), bytes_.data(), features_, scale_, count, to,
                Permuted{ids, device_.captured_step()});
}

void CudaFeed::gather_on_host(std::size_t first, std::size_t count, float* to) {
  for (std::size_t done = 0; done < count; done += kStagingSamples) {
    const std::size_t some = std::min(kStagingSamples, count - done);
    StagingBuffer& staging = staging_[next_staging_++ % 2];
    check(cudaEventSynchronize(staging.free), "waiting for a buffer of samples");
    for (std::size_t i = 0; i < some; ++i)
      std::memcpy(staging.host.data() + i * features_, host_bytes_.data() + host_order_[first + done + i] * features_,
                  features_);
    device_.copy_to_device(staging.device.data(), staging.host.data(), some * features_);
    scale_bytes(device_.compute_stream(), staging.device.data(), features_, scale_, some, to + done * features_,
                Contiguous());
    check(cudaEventRecord(staging.free, device_.compute_stream()), "copying samples");
  }
}

}  // namespace mgcompare::cuda
