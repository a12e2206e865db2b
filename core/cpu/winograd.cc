#include "cpu/winograd.h"

#include <algorithm>
#include <cstdint>

namespace mgcompare {
namespace {

// Transformed inputs of a group of tiles stay in the L2 cache while all outputs are computed from them.
constexpr std::size_t kGroupBytes = std::size_t{1} << 20;
// Transformed inputs and gradients that are summed at a time. More tiles make the sums over lanes rarer.
constexpr std::size_t kSumBytes = std::size_t{40} << 20;
constexpr std::size_t kMostSummed = 96;  // tiles
constexpr std::size_t kLeastChannels = 16;

std::size_t tiles_along(std::size_t pixels) { return (pixels + 1) / 2; }
std::size_t tiles_of(const WinogradShape& shape) { return tiles_along(shape.out_height()) * tiles_along(shape.out_width()); }

TiledPlanes inputs_of(const WinogradShape& shape) {
  return {shape.channels, shape.height, shape.width, tiles_along(shape.out_width()), {shape.padding[0], shape.padding[1]}};
}
TiledPlanes outputs_of(const WinogradShape& shape, std::size_t outputs) {
  return {outputs, shape.out_height(), shape.out_width(), tiles_along(shape.out_width()), {0, 0}};
}

// Aligned memory of the thread, which its layers use in turn.
enum class Use { inputs, products, summed_inputs, summed_gradients };
float* scratch(Use use, std::size_t floats) {
  constexpr std::size_t kAlignment = 64;
  thread_local std::vector<float> memories[4];
  std::vector<float>& memory = memories[static_cast<std::size_t>(use)];
  if (memory.size() < floats + kAlignment / sizeof(float)) memory.resize(floats + kAlignment / sizeof(float));
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return memory.data() + (kAlignment - address % kAlignment) % kAlignment / sizeof(float);
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
  const std::size_t fitting = kGroupBytes / (kPlaces * shape.channels * kLanes * sizeof(float)) / 4 * 4;
  group_ = std::min(std::clamp<std::size_t>(fitting, 4, 32), tiles_of(shape));
}

void WinogradFilters::load(const float* weights, bool transposed) {
  const std::size_t inputs = shape_.channels, outputs = shape_.outputs;
  for (std::size_t o = 0; o < outputs; ++o) {
    const std::size_t tile = o / kTile, count = std::min(kTile, outputs - tile * kTile);
    float* const to = filters_.data() + tile * kTile * kPlaces * inputs + o % kTile;
    for (std::size_t c = 0; c < inputs; ++c) {
      const float* const from = weights + (transposed ? c * outputs + o : o * inputs + c) * 9;
      float filter[3][3], changed[4][4];
      for (std::size_t k = 0; k < 9; ++k) filter[k / 3][k % 3] = from[transposed ? 8 - k : k];
      transform_filter(filter, changed);
      for (std::size_t place = 0; place < kPlaces; ++place) to[(place * inputs + c) * count] = changed[place / 4][place % 4];
    }
  }
}

void WinogradFilters::convolve(const float* in, const float* bias, float* out) const {
  const std::size_t tiles = tiles_of(shape_), plane = shape_.out_height() * shape_.out_width() * kLanes;
  float* const transformed = scratch(Use::inputs, kPlaces * place_stride(shape_.channels, group_) * kLanes);
  float* const products = scratch(Use::products, kPlaces * place_stride(kTile, group_) * kLanes);
  for (std::size_t first = 0; first < tiles; first += group_) {
    const std::size_t count = std::min(group_, tiles - first);
    kernels().transform_tiles(inputs_of(shape_), in, first, count, group_, transformed);
    for (std::size_t o = 0; o < shape_.outputs; o += kTile) {
      const std::size_t outputs = std::min(kTile, shape_.outputs - o);
      kernels().multiply_tiles(transformed, filters_.data() + o * kPlaces * shape_.channels, shape_.channels, outputs, count, group_, products);
      kernels().finish_tiles(outputs_of(shape_, outputs), products, bias == nullptr ? nullptr : bias + o, first, count, group_, out + o * plane);
    }
  }
}

WinogradGradient::WinogradGradient(const WinogradShape& shape) : shape_(shape), sums_(kPlaces * shape.outputs * shape.channels) {
  const std::size_t fitting = kSumBytes / (kPlaces * (shape.channels + shape.outputs) * kLanes * sizeof(float));
  pitch_ = std::clamp<std::size_t>(fitting, 16, kMostSummed);
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
