#pragma once

// Segments of a vector, the sums over them, and how devices share them out.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mgcompare/device.h"
#include "mgcompare/portable.h"
#include "mgcompare/types.h"

namespace mgcompare {

// Elements begin, begin + stride, ... (count of them) of a vector: a row, or a column of a row-major matrix.
struct Segment {
  std::uint32_t begin;
  std::uint32_t count;
  std::uint32_t stride;
};

// N sums at once.
template <std::size_t N> struct Sums {
  float at[N] = {};
  MGCOMPARE_FUNCTION Sums& operator+=(const Sums& other) {
    for (std::size_t k = 0; k < N; ++k) at[k] += other.at[k];
    return *this;
  }
};

// Elements begin .. begin + count of a segment: what a block of a GPU holds at once.
struct Tile {
  std::uint32_t segment;
  std::uint32_t begin, count;
  std::uint32_t first_of_segment, of_segment;  // the segment's tiles
};

// Segments in device memory, and how a GPU shares them out. Made once, in start.
class SegmentTable {
 public:
  static constexpr std::size_t kHeld = 16;        // elements of a tile that a thread holds, at most
  static constexpr std::size_t kMostSums = 4;
  static constexpr std::uint32_t kMostThreads = 512, kTile = kMostThreads * kHeld;

  SegmentTable() = default;
  SegmentTable(Device& device, const std::vector<Segment>& segments) {
    std::vector<Tile> tiles;
    std::uint32_t longest = 0;
    for (std::uint32_t s = 0; s < segments.size(); ++s) {
      const std::uint32_t count = segments[s].count, cut = (count + kTile - 1) / kTile;
      const auto first = static_cast<std::uint32_t>(tiles.size());
      longest = count > longest ? count : longest;
      for (std::uint32_t t = 0; t < cut; ++t)
        tiles.push_back({s, t * kTile, count - t * kTile < kTile ? count - t * kTile : kTile, first, cut});
    }
    const std::uint32_t wanted = (longest / 8 + 31) / 32 * 32;
    threads_ = wanted < 64 ? 64 : wanted > kMostThreads ? kMostThreads : wanted;
    segments_ = device_array<Segment>(device, segments.size());
    tiles_ = device_array<Tile>(device, tiles.size());
    if (longest > kTile) partials_ = device_array<float>(device, 2 * tiles.size() * kMostSums);
    copy_to_device(device, segments_.span(), Span<const Segment>(segments.data(), segments.size()));
    copy_to_device(device, tiles_.span(), Span<const Tile>(tiles.data(), tiles.size()));
    device.synchronize();
  }

  Span<const Segment> segments() const { return segments_.span(); }
  Span<const Tile> tiles() const { return tiles_.span(); }
  // Sums of tiles, then sums of segments, each where the segment's first tile is; empty where every segment is one tile.
  Vec partials() const { return partials_.span(); }
  std::uint32_t threads() const { return threads_; }

 private:
  Array<Segment> segments_;
  Array<Tile> tiles_;
  Array<float> partials_;
  std::uint32_t threads_ = 64;
};

}  // namespace mgcompare
