#include "check/drawn_samples.h"

#include <algorithm>
#include <utility>

#include "mgcompare/random.h"

namespace mgcompare {

std::vector<std::uint32_t> drawn_samples(std::size_t samples, std::size_t wanted, std::uint64_t seed) {
  wanted = std::min(samples, wanted);
  const Random random(seed, wanted);
  std::vector<std::uint32_t> numbers;
  for (std::size_t k = 0; k < wanted; ++k) {
    const std::size_t begin = k * samples / wanted, end = (k + 1) * samples / wanted;
    numbers.push_back(static_cast<std::uint32_t>(k + 1 == wanted ? samples - 1 : begin + random.below(k, end - begin)));
  }
  return numbers;
}

Split samples_at(const Split& split, const std::vector<std::uint32_t>& numbers) {
  if (split.samples == 0) return split;
  const std::size_t bytes = split.values.size() / split.samples, targets = split.targets.size() / split.samples;
  std::vector<std::uint8_t> values(numbers.size() * bytes);
  Split part{numbers.size(), {}, std::vector<std::uint32_t>(numbers.size() * targets)};
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    std::copy_n(split.values.data() + numbers[k] * bytes, bytes, values.data() + k * bytes);
    std::copy_n(split.targets.data() + numbers[k] * targets, targets, part.targets.data() + k * targets);
  }
  part.values = SharedBytes(std::move(values));
  return part;
}

Dataset with_drawn_samples(Dataset set, std::size_t wanted, std::uint64_t seed) {
  set.train = samples_at(set.train, drawn_samples(set.train.samples, wanted, seed));
  return set;
}

}  // namespace mgcompare
