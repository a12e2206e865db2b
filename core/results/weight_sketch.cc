#include "results/weight_sketch.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "mgcompare/random.h"

namespace mgcompare {
namespace {

constexpr std::size_t kNumbers = 16, kDigits = 8;
constexpr std::uint64_t kStream = 0x736b6574;  // distinct from all random streams of trials
using Numbers = std::array<double, kNumbers>;

std::optional<Numbers> numbers_of(const std::string& sketch) {
  if (sketch.size() != kNumbers * kDigits) return std::nullopt;
  Numbers numbers{};
  for (std::size_t k = 0; k < kNumbers; ++k) {
    const char* const begin = sketch.data() + k * kDigits;
    std::uint32_t bits = 0;
    const auto [end, problem] = std::from_chars(begin, begin + kDigits, bits, 16);
    if (problem != std::errc() || end != begin + kDigits) return std::nullopt;
    numbers[k] = std::bit_cast<float>(bits);
  }
  return numbers;
}

}  // namespace

std::string sketch_of(const std::vector<float>& weights) {
  const Random random(0, kStream);
  Numbers numbers{};
  // One byte of random bits a weight: four for its place, one for its sign.
  constexpr std::size_t kPerBlock = 16;
  for (std::size_t begin = 0; begin < weights.size(); begin += kPerBlock) {
    const Random::Block block = random.block(begin / kPerBlock);
    for (std::size_t k = 0; k < kPerBlock && begin + k < weights.size(); ++k) {
      const std::uint32_t bits = block.words[k / 4] >> (k % 4 * 8);
      const double weight = weights[begin + k];
      numbers[bits & 15] += (bits & 16) != 0 ? -weight : weight;
    }
  }
  std::string sketch;
  for (const double number : numbers) sketch += fmt::format("{:08x}", std::bit_cast<std::uint32_t>(static_cast<float>(number)));
  return sketch;
}

std::optional<double> sketch_distance(const std::string& one, const std::string& other) {
  const std::optional<Numbers> a = numbers_of(one), b = numbers_of(other);
  if (!a || !b) return std::nullopt;
  double sum = 0;
  for (std::size_t k = 0; k < kNumbers; ++k) sum += ((*a)[k] - (*b)[k]) * ((*a)[k] - (*b)[k]);
  return std::sqrt(sum);
}

std::optional<double> sketch_norm(const std::string& sketch) {
  return sketch_distance(sketch, sketch_of({}));
}

}  // namespace mgcompare
