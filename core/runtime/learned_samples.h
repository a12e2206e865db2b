#pragma once

// What passes of one rank computed and learned from. Counters wrap around: differences are exact.

#include <cstdint>

namespace mgcompare {

struct LearnedSamples {
  std::uint64_t computed = 0;       // samples whose gradient was computed
  std::uint64_t unread = 0;         // and then overwritten before anything could have read it
  // Of the samples' positions in the epoch's order. Ranks that together learn from each sample once have a known sum of each:
  // other samples in the same number give other sums, apart from ones that are chosen for it.
  std::uint64_t positions = 0, squares = 0;
  std::uint64_t passed = 0;         // samples that passed forward in training, whether or not their gradient was computed

  // `size` samples, fewer than 2^32, from position `begin` on.
  void learn(std::uint64_t begin, std::uint64_t size) {
    constexpr std::uint64_t kThird = 0xaaaaaaaaaaaaaaab;  // times 3 is 1
    const std::uint64_t offsets = size == 0 ? 0 : size * (size - 1) / 2;
    *this = *this + LearnedSamples{size, 0, offsets, offsets * (2 * size - 1) * kThird, 0}.moved(begin);
  }

  // The same number of samples, at positions that are larger by `distance`.
  LearnedSamples moved(std::uint64_t distance) const {
    return {computed, unread, positions + computed * distance, squares + 2 * distance * positions + computed * distance * distance, passed};
  }

  // Samples that passed forward without a backward pass.
  std::uint64_t only_passed() const { return passed > computed ? passed - computed : 0; }

  // Whether these are the samples of a whole epoch, each once.
  bool cover(std::uint64_t samples) const {
    LearnedSamples all;
    all.learn(0, samples);
    return computed == samples && positions == all.positions && squares == all.squares;
  }

  LearnedSamples operator+(const LearnedSamples& other) const {
    return {computed + other.computed, unread + other.unread, positions + other.positions, squares + other.squares, passed + other.passed};
  }
  LearnedSamples operator-(const LearnedSamples& other) const {
    return {computed - other.computed, unread - other.unread, positions - other.positions, squares - other.squares, passed - other.passed};
  }
};

}  // namespace mgcompare
