#include "data/digits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/number_text.h"
#include "data/drawn_split.h"
#include "mgcompare/random.h"

namespace mgcompare {
namespace {

constexpr std::size_t kSide = 28;
constexpr std::size_t kPixels = kSide * kSide;
constexpr std::size_t kClasses = 10;
constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kTrainSamples = 60'000, kTestSamples = 10'000;

struct Point {
  float x, y;
};

// A stroke is a quadratic B-spline through control points in a unit box, y downwards; a point given twice is a corner.
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

const std::array<std::vector<Glyph>, kClasses>& glyphs() {
  // clang-format off
  static const std::array<std::vector<Glyph>, kClasses> all = {{
      {{{{.55f, 0}, {.15f, 0}, {.08f, .5f}, {.12f, 1}, {.5f, 1.03f}, {.88f, 1}, {.92f, .5f}, {.85f, 0}, {.5f, 0}}},
       {{{.7f, .02f}, {.3f, -.05f}, {.05f, .35f}, {.1f, .9f}, {.5f, 1.05f}, {.9f, .9f}, {.95f, .4f},
         {.7f, .05f}, {.4f, .1f}}}},
      {{{{.5f, 0}, {.5f, .5f}, {.5f, 1}}},
       {{{.25f, .28f}, {.4f, .2f}, {.56f, 0}, {.56f, 0}, {.54f, .5f}, {.54f, 1}}},
       {{{.3f, .22f}, {.52f, 0}, {.52f, 0}, {.52f, 1}}, {{.25f, 1}, {.8f, .99f}}}},
      {{{{.1f, .28f}, {.15f, 0}, {.55f, -.06f}, {.92f, .12f}, {.82f, .5f}, {.3f, .85f}, {.08f, 1}, {.08f, 1},
         {.92f, .98f}}},
       {{{.15f, .2f}, {.4f, -.06f}, {.88f, .05f}, {.78f, .5f}, {.35f, .98f}, {.08f, .98f}, {.12f, .74f}, {.4f, .78f},
         {.65f, 1.03f}, {.98f, .9f}}}},
      {{{{.12f, .12f}, {.4f, -.06f}, {.88f, .02f}, {.82f, .42f}, {.4f, .48f}, {.4f, .48f}, {.88f, .52f},
         {.98f, .92f}, {.5f, 1.1f},
         {.08f, .88f}}},
       {{{.15f, .02f}, {.85f, .02f}, {.85f, .02f}, {.45f, .42f}, {.45f, .42f}, {.92f, .45f}, {.95f, 1}, {.45f, 1.05f},
         {.1f, .9f}}}},
      {{{{.25f, 0}, {.15f, .3f}, {.08f, .56f}, {.08f, .56f}, {.92f, .54f}}, {{.74f, .1f}, {.7f, .5f}, {.66f, 1}}},
       {{{.72f, 1}, {.72f, 0}, {.72f, 0}, {.06f, .66f}, {.06f, .66f}, {.96f, .66f}}},
       {{{.2f, .02f}, {.1f, .55f}, {.5f, .6f}, {.8f, .4f}}, {{.82f, 0}, {.78f, .5f}, {.75f, 1}}}},
      {{{{.88f, .02f}, {.24f, .02f}, {.24f, .02f}, {.18f, .46f}, {.18f, .46f}, {.62f, .32f}, {.98f, .62f},
         {.82f, 1.02f}, {.4f, 1.06f},
         {.08f, .88f}}},
       {{{.25f, .05f}, {.22f, .42f}, {.22f, .42f}, {.8f, .4f}, {.95f, .8f}, {.6f, 1.08f}, {.1f, .95f}},
         {{.25f, .05f}, {.9f, .02f}}}},
      {{{{.76f, .02f}, {.35f, .12f}, {.08f, .6f}, {.16f, 1.02f}, {.6f, 1.08f}, {.92f, .8f}, {.72f, .5f},
         {.35f, .54f}, {.14f, .76f}}},
       {{{.4f, 0}, {.15f, .4f}, {.1f, .9f}, {.5f, 1.1f}, {.9f, .85f}, {.7f, .6f}, {.3f, .65f}, {.2f, .85f}}}},
      {{{{.08f, .04f}, {.9f, .04f}, {.9f, .04f}, {.58f, .5f}, {.4f, 1}}},
       {{{.08f, .06f}, {.88f, .03f}, {.88f, .03f}, {.5f, .6f}, {.42f, 1}}, {{.28f, .52f}, {.82f, .5f}}},
       {{{.1f, .22f}, {.12f, .04f}, {.12f, .04f}, {.9f, .06f}, {.9f, .06f}, {.7f, .45f}, {.62f, 1}}}},
      {{{{.55f, .5f}, {.12f, .36f}, {.18f, -.02f}, {.55f, -.04f}, {.92f, .02f}, {.84f, .36f}, {.45f, .52f},
         {.06f, .72f}, {.14f, 1.05f},
         {.5f, 1.05f}, {.92f, 1}, {.92f, .66f}, {.5f, .48f}}},
       {{{.85f, .12f}, {.5f, -.1f}, {.1f, .15f}, {.4f, .45f}, {.9f, .7f}, {.75f, 1.1f}, {.2f, 1.08f},
         {.12f, .7f}, {.6f, .45f},
         {.88f, .1f}}}},
      {{{{.86f, .26f}, {.6f, -.04f}, {.16f, .02f}, {.1f, .45f}, {.5f, .58f}, {.86f, .3f}, {.86f, .12f},
         {.82f, .5f}, {.76f, 1}}},
       {{{.84f, .22f}, {.55f, -.05f}, {.12f, .08f}, {.14f, .48f}, {.55f, .55f}, {.86f, .2f}, {.9f, .7f},
         {.7f, 1.05f}, {.2f, 1}}},
       {{{.5f, .02f}, {.08f, .1f}, {.12f, .5f}, {.6f, .52f}, {.75f, .1f}, {.5f, 0}}, {{.74f, .05f},
         {.72f, .5f}, {.55f, 1}}}},
  }};
  // clang-format on
  return all;
}

// The random numbers of one sample. All later arithmetic uses only additions, products and square roots, which IEEE 754
// defines exactly, so the bytes are the same on all machines.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t sample) : random_(seed, 0x6469676974000000ull + sample) {}
  float between(float least, float most) { return least + (most - least) * random_.uniform(next_++); }
  bool chance(float share) { return between(0, 1) < share; }
  std::size_t below(std::size_t bound) { return random_.below(next_++, bound); }
  // Approximately normal: mean 0, standard deviation `spread`, at most 3.5 deviations.
  float bell(float spread) {
    const Random::Block b = random_.block(next_++);
    float sum = 0;
    for (const std::uint32_t word : b.words) sum += static_cast<float>(word >> 8) * 0x1p-24f;
    return (sum - 2) * 1.7320508f * spread;
  }
  Random::Block block() { return random_.block(next_++); }

 private:
  Random random_;
  std::uint64_t next_ = 0;
};

class Canvas {
 public:
  void line(Point from, Point to, float radius, float softness) {
    const float reach = radius + softness;
    const int left = clip(std::min(from.x, to.x) - reach), right = clip(std::max(from.x, to.x) + reach + 1);
    const int top = clip(std::min(from.y, to.y) - reach), bottom = clip(std::max(from.y, to.y) + reach + 1);
    const float dx = to.x - from.x, dy = to.y - from.y;
    const float length2 = dx * dx + dy * dy + 1e-6f;
    for (int y = top; y < bottom; ++y) {
      for (int x = left; x < right; ++x) {
        const float px = static_cast<float>(x) - from.x, py = static_cast<float>(y) - from.y;
        const float t = std::clamp((px * dx + py * dy) / length2, 0.0f, 1.0f);
        const float ex = px - t * dx, ey = py - t * dy;
        const float ink = std::clamp((radius - std::sqrt(ex * ex + ey * ey)) / softness + 0.5f, 0.0f, 1.0f);
        float& pixel = ink_[static_cast<std::size_t>(y) * kSide + static_cast<std::size_t>(x)];
        pixel = std::max(pixel, ink);
      }
    }
  }

  void curve(std::span<const Point> points, float radius, float softness) {
    constexpr int kPieces = 5;
    Point last = points.front();
    for (std::size_t i = 1; i + 1 < points.size(); ++i) {
      const bool ends = i + 2 == points.size();
      const Point begin = last, bend = points[i], after = points[i + 1];
      const Point end = ends ? after : Point{(bend.x + after.x) / 2, (bend.y + after.y) / 2};
      for (int piece = 1; piece <= kPieces; ++piece) {
        const float t = static_cast<float>(piece) / kPieces, s = 1 - t;
        const Point next = {s * s * begin.x + 2 * s * t * bend.x + t * t * end.x,
                            s * s * begin.y + 2 * s * t * bend.y + t * t * end.y};
        line(last, next, radius, softness);
        last = next;
      }
    }
    if (points.size() == 2) line(points[0], points[1], radius, softness);
  }

  void wipe(int left, int top, int width, int height) {
    for (int y = clip(static_cast<float>(top)); y < clip(static_cast<float>(top + height)); ++y) {
      for (int x = clip(static_cast<float>(left)); x < clip(static_cast<float>(left + width)); ++x) {
        ink_[static_cast<std::size_t>(y) * kSide + static_cast<std::size_t>(x)] = 0;
      }
    }
  }

  void develop(float ink, float noise, Draws& draws, std::uint8_t* bytes) const {
    for (std::size_t i = 0; i < kPixels; i += 8) {
      const Random::Block grain = draws.block();
      for (std::size_t k = 0; k < 8; ++k) {
        const float speck = static_cast<float>((grain.words[k / 2] >> (16 * (k % 2))) & 0xffffu) * 0x1p-16f;
        const float value = ink_[i + k] * ink + noise * (speck * 1.4f - 0.6f);
        bytes[i + k] = static_cast<std::uint8_t>(std::clamp(value, 0.0f, 1.0f) * 255.0f + 0.5f);
      }
    }
  }

 private:
  static int clip(float value) { return std::clamp(static_cast<int>(value), 0, static_cast<int>(kSide)); }
  std::array<float, kPixels> ink_{};
};

// Transforms the unit box to pixels: size, slant, rotation and position of one sample.
struct Hand {
  float width, height, slant, cosine, sine, x, y;

  explicit Hand(Draws& draws)
      : width(draws.between(8, 16.5f)),
        height(draws.between(14, 21)),
        slant(draws.bell(.23f)),
        cosine(0),
        sine(0),
        x(13.5f + draws.bell(1.3f)),
        y(13.5f + draws.bell(1.3f)) {
    const float half = draws.bell(.085f);  // tangent of half the angle; avoids sine and cosine, which differ between libraries
    cosine = (1 - half * half) / (1 + half * half);
    sine = 2 * half / (1 + half * half);
  }
  Point place(Point p) const {
    const float v = (p.y - .5f) * height, u = (p.x - .5f) * width - slant * v;
    return {x + cosine * u - sine * v, y + sine * u + cosine * v};
  }
};

void draw_sample(std::uint64_t seed, std::uint64_t sample, std::uint8_t label, std::uint8_t* bytes) {
  Draws draws(seed, sample);
  const std::vector<Glyph>& forms = glyphs()[label];
  const Glyph& glyph = forms[draws.below(forms.size())];
  const Hand hand(draws);
  const float unrest = draws.between(.025f, .105f);
  const float radius = draws.between(.6f, 1.9f), softness = draws.between(.8f, 1.8f);
  Canvas canvas;
  std::vector<Point> points;
  for (const Stroke& stroke : glyph) {
    points.clear();
    for (const Point& control : stroke) {
      // The two points of a corner stay equal.
      const bool corner =
          !points.empty() && control.x == stroke[points.size() - 1].x && control.y == stroke[points.size() - 1].y;
      points.push_back(corner ? points.back()
                              : hand.place({control.x + draws.bell(unrest), control.y + draws.bell(unrest)}));
    }
    canvas.curve(points, radius, softness);
  }
  if (draws.chance(.2f)) {  // a stray stroke
    const Point from = {draws.between(0, 27), draws.between(0, 27)};
    canvas.line(from, {from.x + draws.bell(5), from.y + draws.bell(5)}, radius * .7f, softness);
  }
  if (draws.chance(.22f)) {  // a gap
    canvas.wipe(static_cast<int>(draws.below(24)), static_cast<int>(draws.below(24)),
                2 + static_cast<int>(draws.below(6)), 2 + static_cast<int>(draws.below(6)));
  }
  const float noise = draws.chance(.5f) ? draws.between(0, .38f) : 0;
  canvas.develop(draws.between(.52f, 1), noise, draws, bytes);
}

Split draw_split(std::uint64_t seed, std::uint64_t first, std::size_t samples) {
  return drawn_split(samples, kClasses, kPixels, [=](std::size_t number, std::uint32_t label, std::uint8_t* bytes) {
    draw_sample(seed, first + number, static_cast<std::uint8_t>(label), bytes);
  });
}

SampleSpec spec() {
  SampleSpec spec;
  spec.shape = {1, kSide, kSide};
  spec.classes = kClasses;
  return spec;
}

DataSummary describe(const DataConfig&, const DataPlaces&) { return {spec(), kTrainSamples, kTestSamples}; }

Dataset load(const DataConfig& config, const DataPlaces&, const DataLog& log) {
  const DataSummary part = drawn_part(config, {spec(), kTrainSamples, kTestSamples});
  Dataset set = draw_digits(kSeed, part.train_samples, part.test_samples);
  set.training_set = kTrainSamples;
  log(fmt::format("data.set: digits: {} built-in digits, {}", thousands(set.train.samples + set.test.samples), set.origin));
  return set;
}

}  // namespace

Dataset draw_digits(std::uint64_t seed, std::size_t train_samples, std::size_t test_samples) {
  constexpr std::uint64_t kFirstTestSample = 1ull << 32;  // beyond all training samples
  Dataset set;
  set.name = "digits";
  set.origin = fmt::format("drawn with seed {}", seed);
  set.spec = spec();
  set.train = draw_split(seed, 0, train_samples);
  set.test = draw_split(seed, kFirstTestSample, test_samples);
  return set;
}

const DataSourceEntry kDigits = {describe, load};

}  // namespace mgcompare
