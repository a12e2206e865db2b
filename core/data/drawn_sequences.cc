#include "data/drawn_sequences.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "data/sequences.h"
#include "mgcompare/random.h"

namespace mgcompare {
namespace {

constexpr std::uint64_t kFollowerStream = 0x66ull << 56, kSampleStream = 0x71ull << 56, kTestStream = 0x75ull << 56;
constexpr float kRegular = 0.75F;           // share of the tokens that follow the one before

// A random order of all tokens: each is followed by the next one, the last by the first.
std::vector<std::int32_t> followers(std::size_t tokens, std::uint64_t seed) {
  const Random random(seed, kFollowerStream);
  std::vector<std::int32_t> order(tokens), next(tokens);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = tokens; i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
  for (std::size_t i = 0; i < tokens; ++i) next[static_cast<std::size_t>(order[i])] = order[(i + 1) % tokens];
  return next;
}

std::vector<std::int32_t> draw(const SampleSpec& spec, std::size_t samples, std::uint64_t seed, std::uint64_t stream) {
  const std::vector<std::int32_t> next = followers(spec.tokens, seed);
  const std::size_t length = spec.shape.front() + 1;
  std::vector<std::int32_t> tokens(samples * length);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const Random random(seed, stream + sample);
    std::int32_t* const to = tokens.data() + sample * length;
    for (std::size_t i = 0; i < length; ++i) {
      const bool is_regular = i > 0 && random.uniform(2 * i) < kRegular;
      to[i] = is_regular ? next[static_cast<std::size_t>(to[i - 1])] : static_cast<std::int32_t>(random.below(2 * i + 1, spec.tokens));
    }
  }
  return tokens;
}

}  // namespace

Dataset draw_sequences(const SampleSpec& spec, std::size_t train_samples, std::size_t test_samples, std::uint64_t seed) {
  const SequenceForm form{spec.shape.front(), spec.targets > 1};
  // The tokens, their copy as samples, and the targets.
  const double bytes = static_cast<double>(train_samples + test_samples) * static_cast<double>(2 * form.length + spec.targets) * sizeof(std::int32_t);
  check_fits_memory("drawn sequences", bytes);
  Dataset set;
  set.name = "synthetic";
  set.origin = fmt::format("sequences of {} tokens, drawn", form.length);
  set.spec = form.spec(spec.tokens);
  set.train = form.split(draw(spec, train_samples, seed, kSampleStream), form.length + 1);
  set.test = form.split(draw(spec, test_samples, seed, kTestStream), form.length + 1);
  return set;
}

}  // namespace mgcompare
