// The arithmetic of the compressing strategies gives the same results on a GPU as on a CPU. Values are small whole
// numbers, whose sums are exact in any order, so most results are compared bit by bit.

#include <cmath>

#include "cpu/device.h"
#include "on_gpu.h"
#include "plugins/onebit/codes.h"
#include "plugins/power_sgd/low_rank.h"
#include "plugins/top_k/sparse.h"

namespace mgcompare::testing {
namespace {

// On the CPU and on the first GPU.
class CudaCompression : public OnGpu {
 protected:
  MemoryMeter meter;
  CpuDevice cpu{0, meter};
};

std::vector<float> whole_numbers(std::size_t n, std::uint64_t stream) {
  const Random random(11, stream);
  std::vector<float> numbers(n);
  for (std::size_t i = 0; i < n; ++i) numbers[i] = static_cast<float>(random.word(i) % 23) - 11.0f;
  return numbers;
}

struct Encoded {
  std::vector<std::uint32_t> words;
  std::vector<float> residual, decoded;
};

Encoded encoded(Device& device, const std::vector<Segment>& segments, unsigned bits, std::size_t n) {
  std::vector<std::uint32_t> first = {0};
  for (const Segment& segment : segments) first.push_back(first.back() + onebit::words_of(segment.count, bits));
  const onebit::SegmentTable table(device, segments);
  const Array<float> vector = to_device(device, whole_numbers(n, 1)), residual = to_device(device, whole_numbers(n, 2));
  const Array<float> out(device, n);
  const Array<std::uint32_t> first_word = to_device(device, first), wire(device, first.back());
  const onebit::Source source{vector.data(), residual.data(), first_word.data(), wire.data(), 0};
  if (bits == 1) onebit::encode(device, table, 1, onebit::SignCoder{source});
  else onebit::encode(device, table, bits, onebit::RangeCoder{source, bits});
  onebit::decode(device, table, {wire.data(), 1, 0, first_word.data(), 0, bits, out.data()});
  return {to_host(device, wire.span()), to_host(device, residual.span()), to_host(device, out.span())};
}

TEST_F(CudaCompression, EncodesAsTheCpuDoes) {
  cuda::CudaDevice cuda(gpu(0));
  std::vector<std::vector<Segment>> cases = {
      {{3, 100'003, 1}}, {{0, 20'000, 1}, {20'000, 5, 1}, {20'005, 9000, 1}}, {{0, 1, 1}, {1, 25, 1}, {26, 33, 1}}};
  cases.emplace_back();
  for (std::uint32_t row = 0; row < 40; ++row) cases.back().push_back({row * 5000, 5000, 1});
  // Orientation "input": 50 columns are six tiles of eight and a narrower one, and 777 rows end within a word. Then
  // more rows than a tile has, with three columns, and a vector beside them: neighbours of different length or stride
  // share no tile.
  cases.emplace_back();
  for (std::uint32_t column = 0; column < 50; ++column) cases.back().push_back({column, 777, 50});
  cases.push_back({{0, 20'001, 3}, {1, 20'001, 3}, {2, 20'001, 3}, {60'003, 1000, 1}});
  cases.push_back({{0, 100, 7}, {1, 100, 7}, {701, 90, 2}, {1000, 33, 3}, {1100, 1, 9}});
  for (const std::vector<Segment>& segments : cases)
    for (const unsigned bits : {1u, 2u, 4u, 8u}) {
      const Encoded here = encoded(cpu, segments, bits, 200'000), there = encoded(cuda, segments, bits, 200'000);
      EXPECT_EQ(here.words, there.words) << segments.size() << " segments, " << bits << " bits";
      for (std::size_t i = 0; i < here.residual.size(); ++i) {
        ASSERT_NEAR(here.residual[i], there.residual[i], 1e-4) << i;
        ASSERT_NEAR(here.decoded[i], there.decoded[i], 1e-4) << i;
      }
    }
}

struct MagnitudeOf {
  const float* values;
  MGCOMPARE_FUNCTION std::uint32_t operator()(std::size_t i) const { return top_k::magnitude_key(values[i]); }
};

std::vector<std::uint32_t> largest(Device& device, const std::vector<float>& values, std::size_t k) {
  const Array<float> vector = to_device(device, values);
  const Array<std::uint32_t> indices(device, k);
  const Array<std::uint64_t> scratch(device, top_k::selection_scratch(values.size()));
  const MagnitudeOf key{vector.data()};
  top_k::select_largest(device, values.size(), key, key, indices.span(), scratch.span());
  return to_host(device, indices.span());
}

// Values so widely spread that a sample gives a poor estimate of the threshold.
std::vector<float> steep_numbers(std::size_t n) {
  const Random random(6, n);
  std::vector<float> numbers(n);
  for (std::size_t i = 0; i < n; ++i) numbers[i] = std::pow(random.uniform(i) + 1e-9f, -4.0f);
  return numbers;
}

TEST_F(CudaCompression, SelectsTheLargestAsTheCpuDoes) {
  cuda::CudaDevice cuda(gpu(0));
  for (const std::size_t n : std::vector<std::size_t>{1, 31, 4096, 4097, 3'000'003}) {
    const Random random(5, n);
    std::vector<float> smooth(n), tied = whole_numbers(n, 3), sparse(n), same(n, 2.5f);
    for (std::size_t i = 0; i < n; ++i) smooth[i] = random.uniform(i) - 0.5f;
    for (std::size_t i = 0; i < n; i += 97) sparse[i] = smooth[i] * 1e-30f;
    for (const std::vector<float>& values : {smooth, tied, sparse, same, steep_numbers(n)})
      for (const std::size_t k : std::vector<std::size_t>{0, 1, n / 20'000 + 1, n / 1000 + 1, n / 3 + 1, n})
        ASSERT_EQ(largest(cpu, values, k), largest(cuda, values, k)) << n << ", " << k;
  }
}

struct TwiceAsLarge {
  const float* from;
  float* to;
  MGCOMPARE_FUNCTION std::uint32_t operator()(std::size_t i) const {
    to[i] += 2 * from[i];
    return top_k::magnitude_key(to[i]);
  }
};

// The value behind a key is computed exactly once per element, whether the element is in the sample or not, also if the
// sample misses the threshold, and also if k is 0.
TEST_F(CudaCompression, MakesWhatKeysAreOfOnce) {
  cuda::CudaDevice cuda(gpu(0));
  Device& device = cuda;
  constexpr std::size_t kSize = 300'003;
  for (const std::vector<float>& values : {whole_numbers(kSize, 7), steep_numbers(kSize)})
    for (const std::size_t k : {std::size_t{0}, std::size_t{20}, std::size_t{3000}}) {
      const Array<float> from = to_device(device, values), to(device, kSize);
      const Array<std::uint32_t> indices(device, k);
      const Array<std::uint64_t> scratch(device, top_k::selection_scratch(kSize));
      const TwiceAsLarge first{from.data(), to.data()};
      top_k::select_largest(device, kSize, first, MagnitudeOf{to.data()}, indices.span(), scratch.span());
      const std::vector<float> made = to_host(device, to.span());
      for (std::size_t i = 0; i < kSize; ++i) ASSERT_EQ(made[i], 2 * values[i]) << i;
      EXPECT_EQ(to_host(device, indices.span()), largest(cpu, made, k));
    }
}

struct EveryThird {
  MGCOMPARE_FUNCTION bool operator()(std::size_t i) const { return i % 3 == 1; }
};

TEST_F(CudaCompression, SelectsFromMillions) {
  cuda::CudaDevice cuda(gpu(0));
  Device& device = cuda;
  constexpr std::size_t kSize = 20'000'001;
  const Array<std::uint32_t> indices(device, kSize / 3), count(device, 1);
  const Array<std::uint64_t> scratch(device, top_k::selection_scratch(kSize));
  for (int round = 0; round < 5; ++round) {
    top_k::select(device, kSize, EveryThird{}, indices.span(), count.span(), scratch.span());
    ASSERT_EQ(to_host(device, count.span())[0], kSize / 3);
    const std::vector<std::uint32_t> found = to_host(device, indices.span());
    for (std::uint32_t k = 0; k < found.size(); ++k) ASSERT_EQ(found[k], 3 * k + 1);
  }
}

std::vector<Part> parts() {
  return {{"weight", "layer", {300, 41}, {0, 12'300}, true}, {"bias", "layer", {300}, {12'300, 12'600}, false}};
}

TEST_F(CudaCompression, TakesTheElementsThatTheCpuTakes) {
  cuda::CudaDevice cuda(gpu(0));
  const auto taken = [](Device& device) {
    top_k::Sparse sparse(device, parts(), 0.5, 0.02, 1);
    std::vector<float> all;
    for (std::uint64_t step = 0; step < 4; ++step) {
      const Array<float> gradients = to_device(device, whole_numbers(12'600, 10 + step));
      for (const top_k::Entry& entry : to_host(device, sparse.take(device, gradients.span(), 0.02))) {
        all.push_back(static_cast<float>(entry.index));
        all.push_back(entry.value);
      }
    }
    for (const Vec kept : {sparse.velocity(), sparse.unsent()})
      for (const float value : to_host(device, kept)) all.push_back(value);
    return all;
  };
  EXPECT_EQ(taken(cpu), taken(cuda));
}

TEST_F(CudaCompression, OrthogonalColumnsAreThoseOfTheCpu) {
  cuda::CudaDevice cuda(gpu(0));
  constexpr std::size_t kRank = 4;
  const std::vector<power_sgd::Matrix> matrices = {{0, 1000, 7, 0, 0}, {0, 37, 9, 1000 * kRank, 0}};
  const auto orthogonal = [&](Device& device) {
    const Array<power_sgd::Matrix> table = to_device(device, matrices);
    const Array<float> p = to_device(device, whole_numbers(1037 * kRank, 4));
    power_sgd::for_each_team(device, matrices.size(), power_sgd::Orthogonalise{table.data(), p.data(), kRank});
    return to_host(device, p.span());
  };
  const std::vector<float> here = orthogonal(cpu), there = orthogonal(cuda);
  for (std::size_t i = 0; i < here.size(); ++i) ASSERT_NEAR(here[i], there[i], 1e-5) << i;
  for (std::size_t a = 0; a < kRank; ++a)
    for (std::size_t b = 0; b < kRank; ++b) {
      double product = 0;
      for (std::size_t row = 0; row < 1000; ++row)
        product += static_cast<double>(there[row * kRank + a]) * static_cast<double>(there[row * kRank + b]);
      EXPECT_NEAR(product, a == b ? 1 : 0, 1e-5);
    }
}

}  // namespace
}  // namespace mgcompare::testing
