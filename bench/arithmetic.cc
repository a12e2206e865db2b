// Counts each input as read once and each output as written once. The bandwidth of the copy counts reads and writes as well.

#include "arithmetic.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "plugins/onebit/codes.h"
#include "plugins/top_k/sparse.h"

namespace mgcompare {
namespace {

double seconds_of(Device& device, const auto& launch) {
  constexpr int kRounds = 5;
  const int repeats = device.kind() == DeviceKind::cpu ? 2 : 20;
  double best = INFINITY;
  for (int round = 0; round < kRounds + 1; ++round) {
    device.synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < repeats; ++k) launch();
    device.synchronize();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repeats;
    if (round > 0) best = std::min(best, seconds);  // the first round warms caches and maps pages
  }
  return best;
}

struct FillRandom {
  float* values;
  Random random;
  // Approximately normal: the sum of four uniform numbers, minus its mean.
  MGCOMPARE_FUNCTION void operator()(std::size_t i) const {
    const Random::Block block = random.block(i);
    float sum = -2;
    for (const std::uint32_t word : block.words) sum += static_cast<float>(word >> 8) * 0x1p-24f;
    values[i] = sum;
  }
};

struct Above {
  const float* values;
  float limit;
  MGCOMPARE_FUNCTION bool operator()(std::size_t i) const { return values[i] > limit; }
};

struct MagnitudeOf {
  const float* values;
  MGCOMPARE_FUNCTION std::uint32_t operator()(std::size_t i) const { return top_k::magnitude_key(values[i]); }
};

class Bench {
 public:
  Bench(Device& device, std::size_t n)
      : device_(device), n_(n), gradients_(device, n), kept_(device, n), scratch_(device, top_k::selection_scratch(n)) {
    for_each(device, n, FillRandom{gradients_.data(), Random(1, 1)});
    for_each(device, n, FillRandom{kept_.data(), Random(1, 2)});
    const double seconds = seconds_of(device, [&] { device.copy(kept_.data(), gradients_.data(), n * sizeof(float)); });
    bytes_per_second_ = 2 * static_cast<double>(n * sizeof(float)) / seconds;
    std::printf("copy of %zu elements: %.0f us, %.1f GB/s read and written\n\n", n, seconds * 1e6, bytes_per_second_ * 1e-9);
    std::printf("%-34s %12s %14s %12s %12s %7s\n", "operation", "elements", "bytes counted", "us", "copy us", "ratio");
  }

  // Columns of consecutive elements (the weights of one output), or of elements at a stride (the weights of one input).
  std::vector<Segment> consecutive(std::size_t elements) const {
    std::vector<Segment> segments;
    for (std::size_t begin = 0; begin < n_; begin += elements)
      segments.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(std::min(elements, n_ - begin)), 1});
    return segments;
  }
  std::vector<Segment> by_input(std::size_t elements) const {
    elements = std::min(elements, n_);
    const auto stride = static_cast<std::uint32_t>(n_ / elements);
    std::vector<Segment> segments;
    for (std::uint32_t begin = 0; begin < stride; ++begin)
      segments.push_back({begin, static_cast<std::uint32_t>(elements), stride});
    return segments;
  }

  void quantise(const char* what, const std::vector<Segment>& segments, unsigned bits) {
    std::vector<std::uint32_t> first = {0};
    for (const Segment& segment : segments) first.push_back(first.back() + onebit::words_of(segment.count, bits));
    const onebit::SegmentTable table(device_, segments);
    const Array<std::uint32_t> first_word(device_, first.size()), wire(device_, first.back());
    copy_to_device(device_, first_word.span(), Span<const std::uint32_t>(first.data(), first.size()));
    const Array<float> out(device_, n_);
    const onebit::Source source{gradients_.data(), kept_.data(), first_word.data(), wire.data(), 0};
    const std::string name = std::string(what) + ", " + std::to_string(bits) + (bits == 1 ? " bit" : " bits");
    print("quantise " + name, 12 * n_ + 4 * wire.size(), [&] {
      if (bits == 1) onebit::encode(device_, table, 1, onebit::SignCoder{source});
      else onebit::encode(device_, table, bits, onebit::RangeCoder{source, bits});
    });
    print("decode " + name, 4 * n_ + 4 * wire.size(), [&] {
      onebit::decode(device_, table, {wire.data(), 1, 0, first_word.data(), 0, bits, out.data()});
    });
  }

  void select() {
    for_each(device_, n_, FillRandom{gradients_.data(), Random(1, 1)});
    const Array<std::uint32_t> indices(device_, n_ / 100 + 1), count(device_, 1);
    const std::size_t out = 4 * indices.size();
    // About 1 % of the elements are above 1.26.
    print("select above a limit", 4 * n_ + out, [&] {
      top_k::select(device_, n_, Above{gradients_.data(), 1.26f}, indices.span(), count.span(), scratch_.span());
    });
    const MagnitudeOf key{gradients_.data()};
    print("select the largest hundredth", 4 * n_ + out,
          [&] { top_k::select_largest(device_, n_, key, key, indices.span(), scratch_.span()); });
  }

  // Reads gradients, velocities and residuals; writes velocities, residuals and the selected entries.
  void top_k_step() {
    const std::vector<Part> parts = {{"weight", "layer", {n_, 1}, {0, n_}, true}};
    top_k::Sparse sparse(device_, parts, 0.9, 0.01, 1);
    print("top_k, momentum, a hundredth", 20 * n_ + 8 * sparse.entries_at(0.01),
          [&] { sparse.take(device_, gradients_.span(), 0.01); });
  }

 private:
  void print(const std::string& what, std::size_t bytes, const auto& launch) {
    const double seconds = seconds_of(device_, launch), copy = static_cast<double>(bytes) / bytes_per_second_;
    std::printf("%-34s %12zu %14zu %12.1f %12.1f %7.2f\n", what.c_str(), n_, bytes, seconds * 1e6, copy * 1e6,
                seconds / copy);
    std::fflush(stdout);
  }

  Device& device_;
  std::size_t n_;
  Array<float> gradients_, kept_;
  Array<std::uint64_t> scratch_;
  double bytes_per_second_ = 0;
};

}  // namespace

void time_arithmetic(Device& device, std::size_t elements) {
  Bench bench(device, elements);
  bench.quantise("columns of 5000", bench.consecutive(5000), 1);
  bench.quantise("columns of 500", bench.consecutive(500), 1);
  bench.quantise("one column", bench.consecutive(elements), 1);
  bench.quantise("by input, of 5000", bench.by_input(5000), 1);
  bench.quantise("columns of 5000", bench.consecutive(5000), 4);
  bench.select();
  bench.top_k_step();
}

}  // namespace mgcompare
