#pragma once

// Segments of a vector, and how the threads of a GPU divide them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mgcompare/arithmetic.h"

namespace mgcompare::onebit {

// N sums at once.
template <std::size_t N> struct Sums {
  float at[N] = {};
  MGCOMPARE_FUNCTION Sums& operator+=(const Sums& other) {
    for (std::size_t k = 0; k < N; ++k) at[k] += other.at[k];
    return *this;
  }
};

// The unit of work of a few warps: elements begin .. begin + count of a segment, or of several adjacent segments.
struct Tile {
  std::uint32_t segment, columns;     // the first segment, and how many
  std::uint32_t first, stride;        // in the vector: the first element, and the distance between elements
  std::uint32_t begin, count;
  std::uint32_t of;                   // elements of a whole segment
  std::uint32_t first_tile, tiles;    // of the segment
};

// The tiles of segments with consecutive elements (one column a tile), or of segments that are columns of a matrix: as many
// adjacent ones as fit a memory transaction of 64 bytes.
struct Tiling {
  static constexpr std::uint32_t kHeld = 16;  // elements of a tile in one thread's registers, at most
  static constexpr std::uint32_t kMostColumns = 16;
  static constexpr std::uint32_t kMostWarps = 16;
  static constexpr std::size_t kMostSums = 4;

  Array<Tile> tiles;
  std::uint32_t warps = 1;  // per tile
  // Empty unless a segment has several tiles. `partials`: the sums of each tile, then those of each segment. `arrived`: at
  // a segment's first tile, the number of its tiles whose sums are complete.
  Array<float> partials;
  Array<std::uint32_t> arrived;

  Tiling() = default;
  Tiling(Device& device, const std::vector<Segment>& segments, std::uint32_t columns) {
    const std::uint32_t rows_of_warp = kHeld * 32 / columns;
    std::uint32_t wanted = 1;
    for (const Segment& segment : segments)
      if (belongs(segment, columns)) wanted = std::max(wanted, (segment.count + rows_of_warp - 1) / rows_of_warp);
    warps = std::min(wanted, kMostWarps);

    std::vector<Tile> all;
    const std::uint32_t rows = warps * rows_of_warp;
    for (std::uint32_t s = 0, taken = 1; s < segments.size(); s += taken, taken = 1) {
      const Segment& segment = segments[s];
      if (!belongs(segment, columns)) continue;
      while (taken < columns && s + taken < segments.size() && segments[s + taken].begin == segment.begin + taken &&
             segments[s + taken].count == segment.count && segments[s + taken].stride == segment.stride)
        ++taken;
      const std::uint32_t cut = (segment.count + rows - 1) / rows;
      const auto first = static_cast<std::uint32_t>(all.size());
      for (std::uint32_t begin = 0; begin < segment.count; begin += rows)
        all.push_back({s, taken, segment.begin + begin * segment.stride, segment.stride, begin,
                       std::min(rows, segment.count - begin), segment.count, first, cut});
    }
    tiles = device_array<Tile>(device, all.size());
    if (wanted > kMostWarps) {
      partials = device_array<float>(device, 2 * all.size() * columns * kMostSums);
      arrived = device_array<std::uint32_t>(device, all.size());
    }
    copy_to_device(device, tiles.span(), Span<const Tile>(all.data(), all.size()));
    device.synchronize();
  }

 private:
  static bool belongs(const Segment& segment, std::uint32_t columns) { return (segment.stride == 1) == (columns == 1); }
};

// Segments in device memory, and their tiles on a GPU. Make it in Strategy::start: it allocates and waits for the device.
class SegmentTable {
 public:
  SegmentTable() = default;
  SegmentTable(Device& device, const std::vector<Segment>& segments)
      : segments_(device, segments.size()), consecutive_(device, segments, 1), columns_(device, segments, Tiling::kMostColumns) {
    copy_to_device(device, segments_.span(), Span<const Segment>(segments.data(), segments.size()));
    device.synchronize();
  }

  Span<const Segment> segments() const { return segments_.span(); }
  const Tiling& consecutive() const { return consecutive_; }
  const Tiling& columns() const { return columns_; }

 private:
  Array<Segment> segments_;
  Tiling consecutive_, columns_;
};

}  // namespace mgcompare::onebit
