// The compressing strategies' arithmetic on a GPU gives what it gives on a CPU. Values are small whole numbers, whose sums
// are exact in any order, so that most of it is compared to the bit.

#include <gtest/gtest.h>

#include <functional>

#include "cpu/device.h"
#include "cuda/device.h"
#include "plugins/onebit/codes.h"
#include "plugins/power_sgd/low_rank.h"
#include "plugins/top_k/sparse.h"

namespace mgcompare::testing {
namespace {

bool no_gpu() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return false;
  cudaGetLastError();
  return true;
}

#define MGCOMPARE_NEEDS_GPU \
  if (no_gpu()) GTEST_SKIP() << "this machine has no NVIDIA GPU that this program can use"

// A CPU device and the first GPU.
struct Both {
  MemoryMeter meter;
  CpuDevice cpu{0, meter};
  cuda::Gpu& gpu = first();
  cuda::CudaDevice cuda{gpu};
  static cuda::Gpu& first() {
    static cuda::Gpu gpu;
    return gpu;
  }
};

template <class T> Array<T> upload(Device& device, const std::vector<T>& from) {
  Array<T> array(device, from.size());
  device.copy_to_device(array.data(), from.data(), from.size() * sizeof(T));
  device.synchronize();
  return array;
}

template <class T> std::vector<T> download(Device& device, Span<T> from) {
  std::vector<T> host(from.size());
  device.copy_to_host(host.data(), from.data(), from.bytes());
  device.synchronize();
  return host;
}

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
  const SegmentTable table(device, segments);
  const Array<float> vector = upload(device, whole_numbers(n, 1)), residual = upload(device, whole_numbers(n, 2));
  const Array<float> out(device, n);
  const Array<std::uint32_t> first_word = upload(device, first), wire(device, first.back());
  const onebit::Source source{vector.data(), residual.data(), first_word.data(), wire.data(), 0};
  if (bits == 1) encode(device, table, 1, onebit::SignCoder{source});
  else encode(device, table, bits, onebit::RangeCoder{source, bits});
  onebit::decode(device, table, {wire.data(), 1, 0, first_word.data(), 0, bits, out.data()});
  return {download(device, wire.span()), download(device, residual.span()), download(device, out.span())};
}

TEST(CudaCompression, EncodesAsTheCpuDoes) {
  MGCOMPARE_NEEDS_GPU;
  Both both;
  std::vector<std::vector<Segment>> cases = {
      {{3, 100'003, 1}}, {{0, 20'000, 1}, {20'000, 5, 1}, {20'005, 9000, 1}}, {{0, 1, 1}, {1, 25, 1}, {26, 33, 1}}};
  cases.emplace_back();
  for (std::uint32_t row = 0; row < 40; ++row) cases.back().push_back({row * 5000, 5000, 1});
  cases.emplace_back();
  for (std::uint32_t column = 0; column < 50; ++column) cases.back().push_back({column, 777, 50});
  for (const std::vector<Segment>& segments : cases)
    for (const unsigned bits : {1u, 2u, 4u, 8u}) {
      const Encoded here = encoded(both.cpu, segments, bits, 200'000), there = encoded(both.cuda, segments, bits, 200'000);
      EXPECT_EQ(here.words, there.words) << segments.size() << " segments, " << bits << " bits";
      for (std::size_t i = 0; i < here.residual.size(); ++i) {
        ASSERT_NEAR(here.residual[i], there.residual[i], 1e-4) << i;
        ASSERT_NEAR(here.decoded[i], there.decoded[i], 1e-4) << i;
      }
    }
}

struct MagnitudeOf {
  const float* values;
  MGCOMPARE_FUNCTION std::uint32_t operator()(std::size_t i) const { return magnitude_key(values[i]); }
};

std::vector<std::uint32_t> largest(Device& device, const std::vector<float>& values, std::size_t k) {
  const Array<float> vector = upload(device, values);
  const Array<std::uint32_t> indices(device, k);
  const Array<std::uint64_t> scratch(device, selection_scratch(values.size()));
  const MagnitudeOf key{vector.data()};
  select_largest(device, values.size(), key, key, indices.span(), scratch.span());
  return download(device, indices.span());
}

TEST(CudaCompression, SelectsTheLargestAsTheCpuDoes) {
  MGCOMPARE_NEEDS_GPU;
  Both both;
  for (const std::size_t n : {std::size_t{1}, std::size_t{31}, std::size_t{4096}, std::size_t{4097}, std::size_t{3'000'003}}) {
    const Random random(5, n);
    std::vector<float> smooth(n), tied = whole_numbers(n, 3), sparse(n);
    for (std::size_t i = 0; i < n; ++i) smooth[i] = random.uniform(i) - 0.5f;
    for (std::size_t i = 0; i < n; i += 97) sparse[i] = smooth[i] * 1e-30f;
    for (const std::vector<float>& values : {smooth, tied, sparse})
      for (const std::size_t k : {std::size_t{1}, n / 1000 + 1, n / 3 + 1, n})
        ASSERT_EQ(largest(both.cpu, values, k), largest(both.cuda, values, k)) << n << ", " << k;
  }
}

struct EveryThird {
  MGCOMPARE_FUNCTION bool operator()(std::size_t i) const { return i % 3 == 1; }
};

TEST(CudaCompression, SelectsFromMillions) {
  MGCOMPARE_NEEDS_GPU;
  Both both;
  Device& device = both.cuda;
  constexpr std::size_t kSize = 20'000'001;
  const Array<std::uint32_t> indices(device, kSize / 3), count(device, 1);
  const Array<std::uint64_t> scratch(device, selection_scratch(kSize));
  for (int round = 0; round < 5; ++round) {
    select(device, kSize, EveryThird{}, indices.span(), count.span(), scratch.span());
    ASSERT_EQ(download(device, count.span())[0], kSize / 3);
    const std::vector<std::uint32_t> found = download(device, indices.span());
    for (std::uint32_t k = 0; k < found.size(); ++k) ASSERT_EQ(found[k], 3 * k + 1);
  }
}

std::vector<Part> parts() {
  return {{"weight", "layer", {300, 41}, {0, 12'300}, true}, {"bias", "layer", {300}, {12'300, 12'600}, false}};
}

TEST(CudaCompression, TakesTheElementsThatTheCpuTakes) {
  MGCOMPARE_NEEDS_GPU;
  Both both;
  const auto taken = [](Device& device) {
    top_k::Sparse sparse(device, parts(), 0.5, 0.02, 1);
    std::vector<float> all;
    for (std::uint64_t step = 0; step < 4; ++step) {
      const Array<float> gradients = upload(device, whole_numbers(12'600, 10 + step));
      for (const top_k::Entry& entry : download(device, sparse.take(device, gradients.span(), 0.02))) {
        all.push_back(static_cast<float>(entry.index));
        all.push_back(entry.value);
      }
    }
    for (const Vec kept : {sparse.velocity(), sparse.unsent()})
      for (const float value : download(device, kept)) all.push_back(value);
    return all;
  };
  EXPECT_EQ(taken(both.cpu), taken(both.cuda));
}

TEST(CudaCompression, OrthogonalColumnsAreThoseOfTheCpu) {
  MGCOMPARE_NEEDS_GPU;
  Both both;
  constexpr std::size_t kRank = 4;
  const std::vector<power_sgd::Matrix> matrices = {{0, 1000, 7, 0, 0}, {0, 37, 9, 1000 * kRank, 0}};
  const auto orthogonal = [&](Device& device) {
    const Array<power_sgd::Matrix> table = upload(device, matrices);
    const Array<float> p = upload(device, whole_numbers(1037 * kRank, 4));
    for_each_team(device, matrices.size(), power_sgd::Orthogonalise{table.data(), p.data(), kRank});
    return download(device, p.span());
  };
  const std::vector<float> here = orthogonal(both.cpu), there = orthogonal(both.cuda);
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
