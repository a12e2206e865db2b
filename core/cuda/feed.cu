#include "cuda/feed.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <string>

#include "base/shape.h"
#include "cuda/pack.h"
#include "cuda/transpose.h"
#include "model/augmentation.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

constexpr unsigned kFetchBlocks = 64;  // enough loads in flight for the host link; leaves room for the present step

struct Permuted {
  const std::uint32_t* order;
  CapturedStep captured_step;
  __device__ std::size_t operator()(std::size_t sample) const { return order[sample + captured_step.position_offset()]; }
};

// The address of the i-th sample, from the values of the whole split.
struct StoredRows {
  const std::uint8_t* values;
  std::size_t bytes;                // of a sample
  Permuted order;
  __device__ const std::uint8_t* operator()(std::size_t sample) const { return values + order(sample) * bytes; }
};

// The same from the buffer of the batch, if it was fetched.
struct StagedRows {
  StoredRows stored;
  const StagingPlan* plan;
  const std::uint8_t* staging;
  std::size_t buffer_bytes;
  __device__ const std::uint8_t* operator()(std::size_t sample) const {
    return plan->source < 0 ? stored(sample) : staging + static_cast<std::size_t>(plan->source) * buffer_bytes + sample * stored.bytes;
  }
};

// Four pixels per thread if the sample size is a multiple of four, and the destination is aligned.
template <class T, class Rows>
void scale_bytes(cudaStream_t stream, std::size_t features, float scale, std::size_t count, T* to, Rows rows) {
  if (features % 4 == 0 && reinterpret_cast<std::uintptr_t>(to) % sizeof(Pack<T, 4>) == 0) {
    const std::size_t words = features / 4;
    for_each_index(stream, count * words, [=] __device__(std::size_t i) {
      const std::size_t sample = i / words, word = i % words;
      const uchar4 four = reinterpret_cast<const uchar4*>(rows(sample))[word];
      const float scaled[4] = {static_cast<float>(four.x) * scale, static_cast<float>(four.y) * scale,
                               static_cast<float>(four.z) * scale, static_cast<float>(four.w) * scale};
      store(to + 4 * i, scaled);
    });
    return;
  }
  for_each_index(stream, count * features, [=] __device__(std::size_t i) {
    to[i] = narrowed<T>(static_cast<float>(rows(i / features)[i % features]) * scale);
  });
}

// What prepare_values() needs besides the values.
struct PreparedForm {
  unsigned channels, height, width;  // of an image; otherwise width is the values of a channel
  float scale;
  const float* mean;                 // of each channel, then 1 / standard deviation; null: 0 and 1
  bool augments, flip;
  unsigned padding;
};

// One value per thread. `order` gives the index of the i-th sample in the data set.
template <class Value, class T, class Rows>
void prepare_values(cudaStream_t stream, const PreparedForm& form, const Pass& pass, Permuted order, std::size_t count, T* to,
                    Rows rows) {
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
    const auto* const values = reinterpret_cast<const Value*>(rows(sample));
    const float value = source < 0 ? 0.0f : static_cast<float>(values[channel * plane + static_cast<std::size_t>(source)]);
    to[i] = narrowed<T>(form.mean == nullptr ? value * form.scale
                                             : (value * form.scale - form.mean[channel]) * form.mean[form.channels + channel]);
  });
}

// Finds the buffer of the batch at `first`, and chooses the other one for the next batch, which begins at `next` (negative:
// unknown). Only this kernel writes the plan, while nothing is fetched.
__global__ void plan_staging(StagingPlan* plan, CapturedStep captured, std::uint32_t first, std::uint32_t count, std::int64_t next,
                             std::uint32_t positions) {
  wait_for_previous_kernel();
  const std::int64_t present = first + captured.position_offset();
  if (captured.state != nullptr)
    next = captured.state->next_begin == kNoStep ? -1 : present + captured.state->next_begin - static_cast<std::int64_t>(captured.state->begin);
  int source = -1;
  for (int buffer = 0; buffer < 2; ++buffer)
    if (plan->staged[buffer].count == count && plan->staged[buffer].first == present) source = buffer;
  const bool known = next >= 0 && next + count <= positions;
  plan->source = source;
  plan->target = known ? (source == 0 ? 1 : 0) : -1;
  if (!known) return;
  plan->next = static_cast<std::uint32_t>(next);
  plan->staged[plan->target] = {plan->next, count};
}

// Copies the samples of the next batch from the host, in words of this type.
template <class Word>
__global__ void fetch_samples(const StagingPlan* plan, const Word* __restrict__ values, const std::uint32_t* __restrict__ order,
                              std::size_t words, std::size_t count, Word* __restrict__ staging, std::size_t buffer_words) {
  if (plan->target < 0) return;
  const std::uint32_t* const ids = order + plan->next;
  Word* const to = staging + static_cast<std::size_t>(plan->target) * buffer_words;
#pragma unroll 4
  for (std::size_t i = first_index(); i < count * words; i += index_stride()) to[i] = values[ids[i / words] * words + i % words];
}

}  // namespace

class PageLockedValues {
 public:
  explicit PageLockedValues(const SharedBytes& original) : original_(original) {
    check_fits_memory("data.on: host: a page-locked copy of the data", static_cast<double>(original.size()));
    check(cudaHostAlloc(&values_, original.size(), cudaHostAllocPortable), "allocating page-locked host memory");
    std::memcpy(values_, original.data(), original.size());
  }
  ~PageLockedValues() { cudaFreeHost(values_); }
  PageLockedValues(const PageLockedValues&) = delete;
  PageLockedValues& operator=(const PageLockedValues&) = delete;
  const std::uint8_t* data() const { return static_cast<const std::uint8_t*>(values_); }

  // That of these values, if a rank has one already.
  static std::shared_ptr<const PageLockedValues> of(const SharedBytes& original) {
    static std::mutex mutex;
    static std::map<const std::uint8_t*, std::weak_ptr<const PageLockedValues>> all;
    const std::lock_guard lock(mutex);
    std::weak_ptr<const PageLockedValues>& known = all[original.data()];
    if (auto values = known.lock(); values != nullptr && values->original_.size() == original.size()) return values;
    const auto made = std::make_shared<const PageLockedValues>(original);
    known = made;
    return made;
  }

 private:
  SharedBytes original_;            // keeps the address, by which the copy is known
  void* values_ = nullptr;
};

CudaFeed::CudaFeed(CudaDevice& device, const SampleSpec& spec, const Split& split, const Preparation& preparation, bool keep_on_host)
    : device_(device),
      shape_(spec.shape),
      samples_(split.samples),
      features_(values_in(shape_)),
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
    host_values_ = PageLockedValues::of(split.values);
    plan_ = device_array<StagingPlan>(device, 1);
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
  // Kernels may still read the values of the host.
  if (on_host()) device_.handles().finish();
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
  if (!on_host()) return;
  // What was fetched belongs to the earlier order.
  device_.join_input();
  device_.zero(plan_.data(), sizeof(StagingPlan));
  last_first_ = last_foreseen_ = -1;
}

const std::uint32_t* CudaFeed::order(std::size_t first, std::size_t count) const {
  if (first > order_.size() || count > order_.size() - first) {
    throw Error("positions [" + std::to_string(first) + ", " + std::to_string(first + count) +
                ") are outside the sample order, which has " + std::to_string(order_.size()) + " positions");
  }
  return order_.data() + first;
}

template <class T, class Rows>
void CudaFeed::prepare(const std::uint32_t* ids, std::size_t count, const Pass& pass, T* to, Rows rows) {
  const cudaStream_t stream = device_.compute_stream();
  const bool augments = preparation_.augments() && pass.training;
  if (element_ == ElementType::uint8 && preparation_.mean.empty() && !augments)
    return scale_bytes(stream, features_, preparation_.scale, count, to, rows);
  PreparedForm form{static_cast<unsigned>(shape_.front()), 1, static_cast<unsigned>(features_ / shape_.front()), preparation_.scale,
                    preparation_.mean.empty() ? nullptr : channels_.data(), augments, preparation_.flip,
                    static_cast<unsigned>(preparation_.crop_padding)};
  if (augments) {
    form.height = static_cast<unsigned>(shape_[1]);
    form.width = static_cast<unsigned>(shape_[2]);
  }
  const Permuted order{ids, device_.captured_step()};
  switch (element_) {
    case ElementType::uint8: return prepare_values<std::uint8_t>(stream, form, pass, order, count, to, rows);
    case ElementType::float32: return prepare_values<float>(stream, form, pass, order, count, to, rows);
    case ElementType::int32: return prepare_values<std::int32_t>(stream, form, pass, order, count, to, rows);
    case ElementType::int64: return prepare_values<std::int64_t>(stream, form, pass, order, count, to, rows);
  }
}

void CudaFeed::gather(std::size_t first, std::size_t count, const Pass& pass, Element element, void* to) {
  if (!pass.inputs.empty())
    return convert(device_.compute_stream(), count * features_, pass.inputs.data(), Element::fp32, to, element);
  with_element(element, [&](auto type) { gather(first, count, pass, static_cast<decltype(type)*>(to)); });
}

template <class T> void CudaFeed::gather(std::size_t first, std::size_t count, const Pass& pass, T* to) {
  const std::uint32_t* const ids = order(first, count);
  if (on_host()) return gather_from_host(first, count, pass, to);
  prepare(ids, count, pass, to, StoredRows{bytes_.data(), sample_bytes_, {ids, device_.captured_step()}});
}

template <class T> void CudaFeed::gather_from_host(std::size_t first, std::size_t count, const Pass& pass, T* to) {
  const CapturedStep& captured = device_.captured_step();
  const std::uint32_t* const ids = order(first, count);
  const StoredRows stored{host_values_->data(), sample_bytes_, {ids, captured}};
  device_.join_input();
  captured_ = captured_ || captured.state != nullptr;
  // A captured pass can be replayed at any position.
  const bool any_position = captured.state != nullptr && !captured.in_order;
  if (count == 0 || any_position || !has_room(count)) return prepare(ids, count, pass, to, stored);
  stage(first, count);
  prepare(ids, count, pass, to, StagedRows{stored, plan_.data(), staging_.data(), room_ * sample_bytes_});
}

void CudaFeed::stage(std::size_t first, std::size_t count) {
  const CapturedStep& captured = device_.captured_step();
  launch(device_.compute_stream(), 1, 1, 0, plan_staging, plan_.data(), captured, static_cast<std::uint32_t>(first),
         static_cast<std::uint32_t>(count), captured.state == nullptr ? foreseen(first) : -1,
         static_cast<std::uint32_t>(order_.size()));
  const cudaStream_t stream = device_.fork_input();
  const auto fetch = [&]<class Word>(Word) {
    const std::size_t words = sample_bytes_ / sizeof(Word);
    fetch_samples<Word><<<kFetchBlocks, kThreads, 0, stream>>>(plan_.data(), reinterpret_cast<const Word*>(host_values_->data()),
                                                               order_.data(), words, count, reinterpret_cast<Word*>(staging_.data()),
                                                               room_ * words);
  };
  if (sample_bytes_ % sizeof(uint4) == 0) fetch(uint4{});
  else if (sample_bytes_ % sizeof(std::uint32_t) == 0) fetch(std::uint32_t{});
  else fetch(std::uint8_t{});
  check(cudaGetLastError(), "fetching samples");
}

bool CudaFeed::has_room(std::size_t count) {
  if (count <= room_) return true;
  if (captured_) return false;
  staging_ = device_array<std::uint8_t>(device_, 2 * count * sample_bytes_);
  room_ = count;
  device_.zero(plan_.data(), sizeof(StagingPlan));
  return true;
}

std::int64_t CudaFeed::foreseen(std::size_t first) {
  const auto present = static_cast<std::int64_t>(first);
  const std::int64_t next = last_first_ >= 0 && present > last_first_ ? 2 * present - last_first_ : -1;
  // Batches at free pace jump: nothing is fetched until two in a row are where they were foreseen.
  const bool jumped = last_foreseen_ >= 0 && last_foreseen_ != present;
  last_first_ = present;
  last_foreseen_ = next;
  return jumped ? -1 : next;
}

}  // namespace mgcompare::cuda
