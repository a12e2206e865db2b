#pragma once

// Momentum correction, the selection of elements to send, and the sum of what all ranks sent.

#include <algorithm>
#include <cmath>
#include <vector>

#include "mgcompare/group.h"
#include "mgcompare/replica.h"
#include "select.h"

namespace mgcompare::top_k {

// An element on the wire.
struct Entry {
  std::uint32_t index;
  float value;
};

// For each element its velocity u, and the sum v of velocities not sent yet. Elements of vectors (biases, normalisation)
// are sent in each step; their bits in `dense` are set.
struct Memory {
  float momentum;
  float* velocity;  // null without momentum
  float* unsent;
  const std::uint32_t* dense;
  MGCOMPARE_FUNCTION bool is_dense(std::size_t i) const { return ((dense[i / 32] >> (i % 32)) & 1u) != 0; }
  MGCOMPARE_FUNCTION std::uint32_t key(std::size_t i, float value) const {
    return is_dense(i) ? 0x7fffffffu : magnitude_key(value);
  }
};

// u = m u + g; v += u.
struct Accumulate : Memory {
  const float* gradients;
  MGCOMPARE_FUNCTION std::uint32_t operator()(std::size_t i) const {
    float step = gradients[i];
    if (velocity != nullptr) velocity[i] = step = momentum * velocity[i] + step;
    const float value = unsent[i] + step;
    unsent[i] = value;
    return key(i, value);
  }
};

struct Key : Memory {
  MGCOMPARE_FUNCTION std::uint32_t operator()(std::size_t i) const { return key(i, unsent[i]); }
};

// Moves chosen elements to the wire. Factor masking: their velocity is cleared too, because it is stale.
struct Take : Memory {
  const std::uint32_t* indices;
  Entry* entries;
  MGCOMPARE_FUNCTION void operator()(std::size_t k) const {
    const std::uint32_t i = indices[k];
    entries[k] = {i, unsent[i]};
    unsent[i] = 0;
    if (velocity != nullptr && !is_dense(i)) velocity[i] = 0;
  }
};

// All indices of one rank differ, so no two threads add to the same element.
struct Add {
  const Entry* entries;
  float* sum;
  MGCOMPARE_FUNCTION void operator()(std::size_t k) const { sum[entries[k].index] += entries[k].value; }
};

class Sparse {
 public:
  // `largest_ratio`: the largest fraction of elements that a step sends.
  Sparse(Device& device, const std::vector<Part>& parts, double momentum, double largest_ratio, std::size_t ranks)
      : momentum_(static_cast<float>(momentum)), elements_(parts.empty() ? 0 : parts.back().range.end), ranks_(ranks) {
    std::vector<std::uint32_t> dense((elements_ + 31) / 32);
    for (const Part& part : parts) {
      if (part.shape.size() > 1) continue;
      for (std::size_t i = part.range.begin; i < part.range.end; ++i) dense[i / 32] |= 1u << (i % 32);
      always_ += part.range.size();
    }
    const std::size_t most = entries_at(largest_ratio);
    if (momentum > 0) velocity_ = device_array<float>(device, elements_);
    unsent_ = device_array<float>(device, elements_);
    dense_ = device_array<std::uint32_t>(device, dense.size());
    indices_ = device_array<std::uint32_t>(device, most);
    entries_ = device_array<Entry>(device, most);
    received_ = device_array<Entry>(device, most * ranks);
    scratch_ = device_array<std::uint64_t>(device, selection_scratch(elements_));
    copy_to_device(device, dense_.span(), Span<const std::uint32_t>(dense.data(), dense.size()));
    device.synchronize();
  }

  // Elements that a rank sends in a step: a fraction of those of matrices, at least one, and all of the others.
  std::size_t entries_at(double ratio) const {
    const auto of_matrices = static_cast<double>(elements_ - always_);
    const auto chosen = static_cast<std::size_t>(std::ceil(of_matrices * ratio));
    return std::min(std::max<std::size_t>(chosen, 1), elements_ - always_) + always_;
  }

  // Adds a gradient to the unsent elements, then removes and returns the largest ones.
  Span<Entry> take(Device& device, ConstVec gradients, double ratio) {
    const Memory memory{momentum_, velocity_.data(), unsent_.data(), dense_.data()};
    const Range chosen{0, entries_at(ratio)};
    const Span<std::uint32_t> indices = indices_.span().slice(chosen);
    select_largest(device, elements_, Accumulate{memory, gradients.data()}, Key{memory}, indices, scratch_);
    for_each(device, indices.size(), Take{memory, indices.data(), entries_.data()});
    return entries_.span().slice(chosen);
  }

  // Replaces the gradients by the sum of all ranks' chosen elements.
  void run(Device& device, Group& group, Vec gradients, double ratio) {
    const Span<Entry> mine = take(device, gradients, ratio);
    group.all_gather(mine, received_.span());
    device.zero(gradients.data(), gradients.bytes());
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      for_each(device, mine.size(), Add{received_.data() + rank * mine.size(), gradients.data()});
  }

  Vec velocity() const { return velocity_.span(); }
  Vec unsent() const { return unsent_.span(); }

 private:
  float momentum_;
  std::size_t elements_, ranks_;
  std::size_t always_ = 0;  // elements sent in every step
  Array<float> velocity_, unsent_;
  Array<std::uint32_t> dense_, indices_;
  Array<Entry> entries_, received_;
  Array<std::uint64_t> scratch_;
};

}  // namespace mgcompare::top_k
