#pragma once

// The GPU side of select_largest() in select.h. Compiled by nvcc only.
//
// The limit is the smallest selected key. A sample estimates it. One pass over all elements then makes a histogram of keys
// near the estimate, counts the keys above, and marks both kinds of elements: the limit follows from the counts, and only
// few elements must be examined again. If the limit is not near the estimate, all keys are counted twice more, by their
// upper and by their lower bits.
//
// All passes are one kernel. Blocks take numbers as they start, and the lowest numbers do the first pass: a block only
// waits for blocks that run already, and the blocks of the next pass are resident when a pass ends.

#include <type_traits>

#include "select_cuda.h"

namespace mgcompare::top_k::gpu {
namespace selection {

inline constexpr unsigned kBins = 8192, kLowBits = 11;  // a key's 24 bits are 13 upper and 11 lower ones
inline constexpr unsigned kCounters = 1024;             // threads of a block; fewer blocks have fewer histograms to add
inline constexpr unsigned kMostBlocks = 264;            // of a pass: two for each SM of the largest GPUs
static_assert(kBins <= 2 * 4096, "selection_scratch() assumes it");

enum class Pass : unsigned { sample, near_sample, upper, lower };

// The sample: of each group of 2^shift rows of 32 elements one row, whose position varies between groups.
struct Sample {
  static constexpr unsigned kMostGroups = 4096, kOfWarp = 2;
  unsigned shift = 1, groups;
  unsigned wanted;  // elements to select from the sample, in proportion
  Sample(std::size_t n, std::size_t wanted_of_all) {
    const std::size_t last = (n - 1) / 32;
    while ((last >> shift) >= kMostGroups) ++shift;
    groups = static_cast<unsigned>(last >> shift) + 1;
    const std::size_t elements = groups * std::size_t{32} < n ? groups * std::size_t{32} : n;
    wanted = static_cast<unsigned>((wanted_of_all * elements + n - 1) / n);
  }
  __device__ std::size_t row(unsigned group) const {
    return (static_cast<std::size_t>(group) << shift) + (group * 0x9e3779b9u >> (32 - shift));
  }
  __device__ bool has(std::size_t asked) const { return row(static_cast<unsigned>(asked >> shift)) == asked; }
};

// A histogram. Bin b counts keys that are low + b after the shift. Keys at or below `low` (often very many zeros) are not
// counted; bin 0 counts keys above the last bin instead.
struct Counter {
  unsigned* bins;
  unsigned low, shift;
  unsigned above = 0;
  __device__ int place(unsigned key) const { return static_cast<int>(key >> 7 >> shift) - static_cast<int>(low); }
  __device__ void add(unsigned key) {
    const int at = place(key);
    if (at >= static_cast<int>(kBins)) ++above;
    else if (at > 0) atomicAdd(bins + at, 1u);
  }
};

// The result of a search, made by one block: the bin of the smallest selected key (0 if too few keys were counted), how many
// keys of that bin are selected, and how many it has. The search zeroes the bins.
struct Place {
  unsigned bin, wanted, counted;
};
__device__ inline unsigned sum_of_lanes_upto(unsigned sum) {
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    const unsigned other = __shfl_up_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 >= offset) sum += other;
  }
  return sum;
}
__device__ inline Place find_place(unsigned* bins, unsigned above, unsigned wanted) {
  constexpr unsigned kOwn = kBins / kCounters, kWarpsOfBlock = kCounters / 32;
  static_assert(kWarpsOfBlock == 32, "a lane has the sum of a warp");
  __shared__ unsigned of_warp[kWarpsOfBlock];
  __shared__ Place place;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, highest = kBins - 1 - kOwn * threadIdx.x;
  unsigned counts[kOwn], own = 0;
#pragma unroll
  for (unsigned k = 0; k < kOwn; ++k) {
    own += counts[k] = __ldcg(bins + highest - k);
    bins[highest - k] = 0;
  }
  const unsigned upto = sum_of_lanes_upto(own);
  if (lane == 31) of_warp[warp] = upto;
  __syncthreads();
  const unsigned warps_upto = sum_of_lanes_upto(of_warp[lane]);
  const unsigned all = __shfl_sync(0xffffffffu, warps_upto, 31);
  const unsigned before = __shfl_sync(0xffffffffu, warps_upto, (warp + 31) % 32);
  if (threadIdx.x == 0) place = {0, wanted - min(wanted, above + all), 0};
  __syncthreads();
  above += upto - own + (warp > 0 ? before : 0);
  if (above < wanted && above + own >= wanted) {
    unsigned k = 0;
#pragma unroll
    for (unsigned j = 0; j + 1 < kOwn; ++j)
      if (k == j && above + counts[j] < wanted) {
        above += counts[j];
        ++k;
      }
    unsigned counted = counts[0];
#pragma unroll
    for (unsigned j = 1; j < kOwn; ++j) counted = k == j ? counts[j] : counted;
    place = {highest - k, wanted - above, counted};
  }
  __syncthreads();
  return place;
}

// Derives from the counts of a pass which keys the next pass counts, or the limit.
template <Pass kPass>
__device__ void conclude(Scratch::Found& found, unsigned low, unsigned above, const Place& place, unsigned wanted) {
  found.above = 0;
  if (kPass == Pass::sample) {
    // Interpolates the limit within its bin. The next pass counts keys in a window around it which includes the whole bin,
    // because in some vectors all keys of a bin are equal.
    const unsigned long long wanted_keys = static_cast<unsigned long long>(place.wanted) << kLowBits;
    const unsigned down = place.counted == 0 ? 0 : static_cast<unsigned>(wanted_keys / place.counted);
    const unsigned about = place.bin == 0 ? 0 : ((place.bin + 1) << kLowBits) - down;
    found.low = about > kBins / 2 ? about - kBins / 2 : 0;
  } else if (kPass == Pass::upper) {
    found.low = place.bin << kLowBits;
  } else {
    found.known = kPass == Pass::lower || (above < wanted && (place.bin > 0 || low == 0));
    found.marked = found.known && kPass == Pass::near_sample && place.bin > 0;
    found.limit = low + place.bin;
    found.room = place.wanted;
  }
  __threadfence();
  *static_cast<volatile unsigned*>(&found.passes_done) = static_cast<unsigned>(kPass) + 1;
}

// Waits for the end of a pass. All threads of this block then see what earlier passes wrote.
__device__ inline void wait_for(const Scratch::Found& found, Pass pass) {
  if (threadIdx.x == 0) {
    while (*static_cast<const volatile unsigned*>(&found.passes_done) <= static_cast<unsigned>(pass)) {}
    __threadfence();
  }
  __syncthreads();
}

// A warp processes chunks of 32 rows of 32 elements, kBatch rows at a time: all loads are issued before the first key is
// used. Returns to lane l bits for its elements, one of each row: which are above the window, and which are in it.
inline constexpr unsigned kChunk = 1024, kBatch = 8;
template <Pass kPass, bool kWhole, class Key>
__device__ Wanted count_chunk(std::size_t begin, std::size_t n, Counter& counter, const Key& key_of) {
  Wanted mark{0, 0};
#pragma unroll 1
  for (unsigned row = 0; row < 32; row += kBatch) {
    unsigned keys[kBatch];
#pragma unroll
    for (unsigned k = 0; k < kBatch; ++k) {
      const std::size_t i = begin + (row + k) * 32;
      keys[k] = kWhole || i < n ? key_of(row + k, i) : 0;
    }
    Wanted of_batch{0, 0};
#pragma unroll
    for (unsigned k = 0; k < kBatch; ++k) {
      if (kPass != Pass::near_sample) {
        counter.add(keys[k]);
        continue;
      }
      const int place = counter.place(keys[k]);
      if (place >= static_cast<int>(kBins)) of_batch.yes |= 1u << k;
      else if (place > 0) {
        atomicAdd(counter.bins + place, 1u);
        of_batch.if_room |= 1u << k;
      }
    }
    mark.yes |= of_batch.yes << row;
    mark.if_room |= of_batch.if_room << row;
  }
  return mark;
}

// The parameters of a search, and the number of blocks of each pass.
template <class First, class Again> struct Search {
  std::size_t n;
  First first;
  Again again;
  Scratch scratch;
  unsigned wanted;
  Sample sample{n, wanted};
  unsigned sampling = blocks_for(sample.groups, Sample::kOfWarp), near = min(blocks_for(n, kChunk), kMostBlocks);
  unsigned recounting = (near + 1) / 2;  // per pass; rarely needed

  static unsigned blocks_for(std::size_t items, unsigned of_warp) {
    const std::size_t of_block = of_warp * (kCounters / 32);
    return static_cast<unsigned>((items + of_block - 1) / of_block);
  }
  unsigned blocks() const { return sampling + near + 2 * recounting; }
};

template <class First, class Again>
__device__ void count_sample(const Search<First, Again>& search, unsigned warp, unsigned warps, Counter& counter) {
  unsigned keys[Sample::kOfWarp];
#pragma unroll
  for (unsigned k = 0; k < Sample::kOfWarp; ++k) {
    const unsigned group = warp + k * warps;
    const std::size_t i = search.sample.row(group) * 32 + threadIdx.x % 32;
    keys[k] = group < search.sample.groups && i < search.n ? search.first(i) : 0;
  }
#pragma unroll
  for (unsigned k = 0; k < Sample::kOfWarp; ++k) counter.add(keys[k]);
}

template <Pass kPass, class First, class Again>
__device__ void count_all(const Search<First, Again>& search, unsigned warp, unsigned warps, Counter& counter) {
  const unsigned lane = threadIdx.x % 32;
  for (std::size_t chunk = warp; chunk * kChunk < search.n; chunk += warps) {
    // first() has been called for the elements of the sample.
    constexpr bool kMade = kPass != Pass::near_sample || std::is_same_v<First, Again>;
    const unsigned sampled = kMade ? 0 : __ballot_sync(0xffffffffu, search.sample.has(chunk * 32 + lane));
    const auto key_of = [&](unsigned row, std::size_t i) {
      return kMade || ((sampled >> row) & 1u) != 0 ? search.again(i) : search.first(i);
    };
    const std::size_t begin = chunk * kChunk + lane;
    const Wanted mark = (chunk + 1) * kChunk <= search.n ? count_chunk<kPass, true>(begin, search.n, counter, key_of)
                                                         : count_chunk<kPass, false>(begin, search.n, counter, key_of);
    if (kPass != Pass::near_sample) continue;
    search.scratch.marks[chunk * 32 + lane] = mark;
    counter.above += __popc(mark.yes);
  }
}

template <Pass kPass, class First, class Again>
__device__ void take_part(const Search<First, Again>& search, unsigned block, unsigned blocks, unsigned* bins) {
  Scratch::Found& found = *search.scratch.found;
  for (unsigned b = threadIdx.x; b < kBins; b += kCounters) bins[b] = 0;
  __syncthreads();

  constexpr bool kUpper = kPass == Pass::sample || kPass == Pass::upper;
  Counter counter{bins, kUpper ? 0 : __ldcg(&found.low), kUpper ? kLowBits : 0};
  const unsigned warp = block * (kCounters / 32) + threadIdx.x / 32, warps = blocks * (kCounters / 32);
  if constexpr (kPass == Pass::sample) count_sample(search, warp, warps, counter);
  else count_all<kPass>(search, warp, warps, counter);

  for (unsigned offset = 16; offset > 0; offset /= 2) counter.above += __shfl_xor_sync(0xffffffffu, counter.above, offset);
  if (threadIdx.x % 32 == 0 && counter.above != 0) atomicAdd(bins, counter.above);
  __syncthreads();
  for (unsigned b = threadIdx.x; b < kBins; b += kCounters)
    if (bins[b] != 0) atomicAdd(b == 0 ? &found.above : search.scratch.bins + b, bins[b]);

  if (!arithmetic::last_to_arrive(&found.blocks_done, blocks)) return;
  const unsigned above = __ldcg(&found.above), wanted = kPass == Pass::sample ? search.sample.wanted : search.wanted;
  const Place place = find_place(search.scratch.bins, above, wanted);
  if (threadIdx.x == 0) conclude<kPass>(found, counter.low, above, place, wanted);
}

template <class First, class Again>
__global__ void __launch_bounds__(kCounters, 2) find_limit(Search<First, Again> search) {
  __shared__ unsigned bins[kBins];
  __shared__ unsigned number;
  Scratch::Found& found = *search.scratch.found;
  if (threadIdx.x == 0) number = atomicAdd(&found.blocks_started, 1u);
  __syncthreads();
  unsigned block = number;
  if (block < search.sampling) return take_part<Pass::sample>(search, block, search.sampling, bins);
  block -= search.sampling;
  wait_for(found, Pass::sample);
  if (block < search.near) return take_part<Pass::near_sample>(search, block, search.near, bins);
  block -= search.near;
  wait_for(found, Pass::near_sample);
  if (__ldcg(&found.known) != 0) return;
  if (block < search.recounting) return take_part<Pass::upper>(search, block, search.recounting, bins);
  block -= search.recounting;
  wait_for(found, Pass::upper);
  take_part<Pass::lower>(search, block, search.recounting, bins);
}

}  // namespace selection

template <class First, class Again>
void select_largest(Device& device, std::size_t n, First first, Again again, Span<std::uint32_t> indices,
                    Span<std::uint64_t> memory) {
  using namespace selection;
  if (n == 0) return;
  const Scratch scratch(memory, n);
  device.zero(scratch.zeroed.data(), scratch.zeroed.bytes());
  const cudaStream_t stream = arithmetic::stream_of(device);
  const Search<First, Again> search{n, first, again, scratch, static_cast<unsigned>(indices.size())};
  find_limit<<<search.blocks(), kCounters, 0, stream>>>(search);
  const Largest<Again> largest{again, scratch.found, scratch.marks};
  select_tiles<<<tiles_of<Largest<Again>>(n), arithmetic::kThreads, 0, stream>>>(n, largest, scratch, indices, nullptr);
  arithmetic::check_launch();
}

}  // namespace mgcompare::top_k::gpu
