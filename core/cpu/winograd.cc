#include "cpu/winograd.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "cpu/huge_pages.h"

namespace mgcompare {
namespace {

// Transformed inputs of a group of tiles stay in the L2 cache while all outputs are computed from them.
constexpr std::size_t kGroupBytes = std::size_t{512} << 10;
// Outputs whose products are kept at a time.
constexpr std::size_t kPanel = 40;
// Tiles of a group. From 128 channels on the least number fills kGroupBytes, and more channels exceed it.
constexpr std::size_t kLeastGroup = kChunk, kMostGroup = 32;
// Transformed inputs and gradients that are summed at a time stay in the cache. More tiles make the sums over lanes rarer, so of more
// than 128 channels and outputs together the least number is summed, which exceeds kSumBytes.
constexpr std::size_t kSumBytes = std::size_t{2} << 20;
constexpr std::size_t kLeastSummed = 16, kMostSummed = 48;  // tiles
constexpr std::size_t kLeastChannels = 16;

std::size_t tiles_along(std::size_t pixels) { return (pixels + 1) / 2; }
std::size_t tiles_of(const WinogradShape& shape) { return tiles_along(shape.out_height()) * tiles_along(shape.out_width()); }

TiledPlanes inputs_of(const WinogradShape& shape) {
  return {shape.channels, shape.height, shape.width, tiles_along(shape.out_width()), {shape.padding[0], shape.padding[1]}};
}
TiledPlanes outputs_of(const WinogradShape& shape, std::size_t outputs) {
  return {outputs, shape.out_height(), shape.out_width(), tiles_along(shape.out_width()), {0, 0}};
}

// Memory of the thread, which its layers use in turn. The places of a tile are in different pages.
enum class Use { inputs, products, summed_inputs, summed_gradients };
float* scratch(Use use, std::size_t floats) {
  struct Release {
    void operator()(float* memory) const { std::free(memory); }
  };
  struct Memory {
    std::unique_ptr<float, Release> data;
    std::size_t floats = 0;
  };
  thread_local Memory memories[4];
  Memory& memory = memories[static_cast<std::size_t>(use)];
  if (memory.floats < floats) {
    const std::size_t bytes = (floats * sizeof(float) + kHugePage - 1) / kHugePage * kHugePage;
    memory = {};
    memory.data.reset(static_cast<float*>(allocate_huge_pages(bytes)));
    if (memory.data == nullptr) throw std::bad_alloc();
    memory.floats = bytes / sizeof(float);
  }
  return memory.data.get();
}

// filter (3 x 3) to (4 x 4): the transform of rows, then of columns.
void transform_filter(const float (&filter)[3][3], float (&to)[4][4]) {
  const auto transform = [](float a, float b, float c, float (&out)[4]) {
    out[0] = a;
    out[1] = 0.5f * (a + b + c);
    out[2] = 0.5f * (a - b + c);
    out[3] = c;
  };
  float half[3][4];
  for (int y = 0; y < 3; ++y) transform(filter[y][0], filter[y][1], filter[y][2], half[y]);
  for (int x = 0; x < 4; ++x) {
    float column[4];
    transform(half[0][x], half[1][x], half[2][x], column);
    for (int y = 0; y < 4; ++y) to[y][x] = column[y];
  }
}

// The transpose of transform_filter().
void transform_sums(const float (&sums)[4][4], float* to) {
  const auto transform = [](float a, float b, float c, float d, float (&out)[3]) {
    out[0] = a + 0.5f * (b + c);
    out[1] = 0.5f * (b - c);
    out[2] = 0.5f * (b + c) + d;
  };
  float half[3][4];
  for (int x = 0; x < 4; ++x) {
    float column[3];
    transform(sums[0][x], sums[1][x], sums[2][x], sums[3][x], column);
    for (int y = 0; y < 3; ++y) half[y][x] = column[y];
  }
  for (int y = 0; y < 3; ++y) {
    float row[3];
    transform(half[y][0], half[y][1], half[y][2], half[y][3], row);
    std::copy(row, row + 3, to + y * 3);
  }
}

}  // namespace

WinogradShape WinogradShape::transposed() const {
  return {outputs, out_height(), out_width(), channels, {2 - padding[0], 2 - padding[1]}};
}

bool pays(std::size_t channels, std::size_t outputs) { return std::min(channels, outputs) >= kLeastChannels; }

WinogradFilters::WinogradFilters(const WinogradShape& shape)
    : shape_(shape), filters_(kPlaces * shape.channels * shape.outputs) {
  const std::size_t fitting = kGroupBytes / (kPlaces * shape.channels * kLanes * sizeof(float)) / kChunk * kChunk;
  group_ = std::clamp(fitting, kLeastGroup, kMostGroup);
}

void WinogradFilters::load(const float* weights, bool transposed) {
  const std::size_t inputs = shape_.channels, outputs = shape_.outputs;
  const EvenParts panels{outputs, kPanel};
  for (std::size_t panel = 0; panel < panels.count(); ++panel) {
    const std::size_t begin = panels.begin(panel), size = panels.begin(panel + 1) - begin;
    const EvenParts parts{size, kTile};
    for (std::size_t part = 0; part < parts.count(); ++part) {
      const std::size_t first = parts.begin(part), count = parts.begin(part + 1) - first;
      for (std::size_t k = 0; k < count; ++k) {
        const std::size_t o = begin + first + k;
        float* const to = filters_.data() + (begin * kPlaces + first) * inputs + k;
        for (std::size_t c = 0; c < inputs; ++c) {
          const float* const from = weights + (transposed ? c * outputs + o : o * inputs + c) * 9;
          float filter[3][3], changed[4][4];
          for (std::size_t n = 0; n < 9; ++n) filter[n / 3][n % 3] = from[transposed ? 8 - n : n];
          transform_filter(filter, changed);
          for (std::size_t place = 0; place < kPlaces; ++place) to[place * size * inputs + c * count] = changed[place / 4][place % 4];
        }
      }
    }
  }
}

void WinogradFilters::convolve(const float* in, const float* bias, float* out) const {
  const std::size_t tiles = tiles_of(shape_), plane = shape_.out_height() * shape_.out_width() * kLanes;
  const std::size_t chunk = kPlaces * place_stride(shape_.channels, kChunk) * kLanes;
  const EvenParts panels{shape_.outputs, kPanel};
  float* const transformed = scratch(Use::inputs, group_ / kChunk * chunk);
  float* const products = scratch(Use::products, kPlaces * place_stride(std::min(kPanel, shape_.outputs), kChunk) * kLanes);
  for (std::size_t first = 0; first < tiles; first += group_) {
    const std::size_t count = std::min(group_, tiles - first);
    kernels().transform_tiles(inputs_of(shape_), in, first, count, kChunk, transformed);
    for (std::size_t panel = 0; panel < panels.count(); ++panel) {
      const std::size_t o = panels.begin(panel), outputs = panels.begin(panel + 1) - o;
      const float* const panel_bias = bias == nullptr ? nullptr : bias + o;
      for (std::size_t t = 0; t < count; t += kChunk) {
        const std::size_t some = std::min(kChunk, count - t);
        kernels().multiply_tiles(transformed + t / kChunk * chunk, filters_.data() + o * kPlaces * shape_.channels, shape_.channels, outputs, some, products);
        kernels().finish_tiles(outputs_of(shape_, outputs), products, panel_bias, first + t, some, out + o * plane);
      }
    }
  }
}

WinogradGradient::WinogradGradient(const WinogradShape& shape) : shape_(shape), sums_(kPlaces * shape.outputs * shape.channels) {
  const std::size_t fitting = kSumBytes / (kPlaces * (shape.channels + shape.outputs) * kLanes * sizeof(float));
  pitch_ = std::clamp(fitting, kLeastSummed, kMostSummed);
}

void WinogradGradient::begin() {
  std::fill(sums_.begin(), sums_.end(), 0.0f);
  used_ = 0;
}

void WinogradGradient::add(const float* in, const float* out_gradient) {
  float* const inputs = scratch(Use::summed_inputs, kPlaces * place_stride(shape_.channels, pitch_) * kLanes);
  float* const gradients = scratch(Use::summed_gradients, kPlaces * place_stride(shape_.outputs, pitch_) * kLanes);
  const std::size_t tiles = tiles_of(shape_);
  for (std::size_t first = 0; first < tiles;) {
    const std::size_t count = std::min(pitch_ - used_, tiles - first);
    kernels().transform_tiles(inputs_of(shape_), in, first, count, pitch_, inputs + used_ * kLanes);
    kernels().transform_gradients(outputs_of(shape_, shape_.outputs), out_gradient, first, count, pitch_, gradients + used_ * kLanes);
    first += count;
    used_ += count;
    if (used_ == pitch_) sum();
  }
}

void WinogradGradient::sum() {
  const float* const inputs = scratch(Use::summed_inputs, kPlaces * place_stride(shape_.channels, pitch_) * kLanes);
  const float* const gradients = scratch(Use::summed_gradients, kPlaces * place_stride(shape_.outputs, pitch_) * kLanes);
  if (used_ > 0) kernels().correlate_tiles(gradients, inputs, shape_.outputs, shape_.channels, used_, pitch_, sums_.data());
  used_ = 0;
}

void WinogradGradient::finish(float* weight_gradient) {
  sum();
  const std::size_t pairs = shape_.outputs * shape_.channels;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    float sums[4][4];
    for (std::size_t place = 0; place < kPlaces; ++place) sums[place / 4][place % 4] = sums_[place * pairs + pair];
    transform_sums(sums, weight_gradient + pair * 9);
  }
}

}  // namespace mgcompare
