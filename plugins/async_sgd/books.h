#pragma once

// What a server on several hosts counts. There each rank has a Server of its own, and in a section copies what it needs from rank 0's device,
// and back. A number of 64 bits is three floats, each with 22 bits, so that it is exact.

#include <bit>
#include <cstdint>
#include <vector>

#include "mgcompare/strategy.h"
#include "server.h"

namespace async_sgd {

class Books {
 public:
  // Collective. `server`: of this rank.
  Books(Device& device, Group& group, Server& server)
      : device_(device), group_(group), server_(server), gate_(server.stripes.size() * kOfStripe) {
    const std::size_t floats = kFloats * (gate_ + 1 + server.steps.size());
    staged_ = device_array<float>(device, floats);
    host_ = host_array<float>(device, floats);
    if (group.rank() == 0) {
      own_ = device_array<float>(device, floats);
      device.zero(own_.data(), own_.span().bytes());
      device.synchronize();
    }
    window_ = group.expose(own_.span());
  }

  // Within the stripe's section.
  void load(std::size_t number) {
    Stripe& stripe = server_.stripes[number];
    const std::vector<std::uint64_t> words = read(number * kOfStripe, kOfStripe);
    stripe.updates = words[0], stripe.came = words[1], stripe.gathered = words[2], stripe.resting = words[3];
    stripe.last.emplace(Batch::Position{words[4], words[5], words[6], words[7], 0, 1, std::bit_cast<double>(words[8])}, shape_);
  }
  void store(std::size_t number) {
    const Stripe& stripe = server_.stripes[number];
    std::vector<std::uint64_t> words = {stripe.updates, stripe.came, stripe.gathered, stripe.resting, 0, 0, 0, 0, 0};
    if (const std::optional<Batch>& last = stripe.last) {
      words[4] = last->epoch(), words[5] = last->step(), words[6] = last->begin(), words[7] = last->global_size();
      words[8] = std::bit_cast<std::uint64_t>(last->learning_rate());
    }
    write(number * kOfStripe, words);
  }
  // Within the section of the gate, or in a condition.
  void load_steps() {
    const std::vector<std::uint64_t> words = read(gate_, 1 + server_.steps.size());
    server_.round = words[0];
    server_.steps.assign(words.begin() + 1, words.end());
  }
  void store_steps() {
    std::vector<std::uint64_t> words = {server_.round};
    words.insert(words.end(), server_.steps.begin(), server_.steps.end());
    write(gate_, words);
  }

 private:
  static constexpr std::size_t kOfStripe = 9, kFloats = 3;
  static constexpr int kBits = 22;

  std::vector<std::uint64_t> read(std::size_t begin, std::size_t count) {
    const Range range{0, kFloats * count};
    group_.peer(0).get(window_, kFloats * begin, staged_.span().slice(range));
    copy_to_host(device_, host_.span().slice(range), staged_.span().slice(range));
    device_.synchronize();
    std::vector<std::uint64_t> words(count);
    for (std::size_t i = 0; i < range.size(); ++i)
      words[i / kFloats] |= static_cast<std::uint64_t>(host_[i]) << (kBits * static_cast<int>(i % kFloats));
    return words;
  }
  void write(std::size_t begin, const std::vector<std::uint64_t>& words) {
    const Range range{0, kFloats * words.size()};
    for (std::size_t i = 0; i < range.size(); ++i)
      host_[i] = static_cast<float>(words[i / kFloats] >> (kBits * static_cast<int>(i % kFloats)) & ((1u << kBits) - 1));
    copy_to_device(device_, staged_.span().slice(range), ConstVec(host_.data(), range.size()));
    group_.peer(0).put(window_, kFloats * begin, staged_.span().slice(range));
    device_.synchronize();
  }

  Device& device_;
  Group& group_;
  Server& server_;
  const Shape shape_;               // batches need one, optimisers do not
  std::size_t gate_;                // the first number that is no stripe's
  Array<float> own_, staged_, host_;
  int window_ = 0;
};

}  // namespace async_sgd
