#pragma once

// The largest keys, on a GPU. Included by nvcc only, through arithmetic.h.
//
// A sample says about where the limit is. One pass over all elements then counts keys near there, each for itself, and
// how many are above, and marks both: the limit follows, and few elements are left to be asked again. Where the limit
// proves to be elsewhere, all keys are counted twice more, by their upper and by their lower bits.

#include <type_traits>

#include "mgcompare/selection_cuda.h"

namespace mgcompare::cuda {
namespace selection {

inline constexpr unsigned kBins = 8192, kLowBits = 11;  // a key's 24 bits are 13 upper and 11 lower ones
inline constexpr unsigned kCounters = 1024;             // threads of a block: the fewer blocks, the fewer counts to add
inline constexpr unsigned kMostBlocks = 264;            // two of each SM of the largest GPUs
static_assert(kBins <= 2 * 4096, "selection_scratch() counts on it");

enum class Pass { sample, near_sample, upper, lower };

// Bin b counts keys that are low + b once shifted, except for the lowest bin, which is what is left: often zeros, very many.
struct Counter {
  unsigned* bins;
  unsigned low, shift;
  unsigned above = 0;
  __device__ int place(unsigned key) const { return static_cast<int>(key >> 7 >> shift) - static_cast<int>(low); }
  __device__ void add(int place) {
    if (place >= static_cast<int>(kBins)) ++above;
    else if (place > 0) atomicAdd(bins + place, 1u);
  }
};

// One block. The bin of the last key that is wanted (0 where those counted are too few), how many keys of that bin are
// wanted, and how many it has. Bins are zero again afterwards.
struct Place {
  unsigned bin, wanted, counted;
};
__device__ inline Place find_place(unsigned* bins, unsigned above, unsigned wanted) {
  constexpr unsigned kOwn = kBins / kCounters;
  __shared__ unsigned sums[kCounters];
  __shared__ Place place;
  const unsigned highest = kBins - 1 - kOwn * threadIdx.x;
  unsigned counts[kOwn], own = 0;
#pragma unroll
  for (unsigned k = 0; k < kOwn; ++k) {
    own += counts[k] = __ldcg(bins + highest - k);
    bins[highest - k] = 0;
  }
  sums[threadIdx.x] = own;
  for (unsigned offset = 1; offset < kCounters; offset *= 2) {
    __syncthreads();
    const unsigned other = threadIdx.x >= offset ? sums[threadIdx.x - offset] : 0;
    __syncthreads();
    sums[threadIdx.x] += other;
  }
  __syncthreads();
  if (threadIdx.x == 0) place = {0, wanted - min(wanted, above + sums[kCounters - 1]), 0};
  __syncthreads();
  above += sums[threadIdx.x] - own;
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

// What a pass has counted says what the next one looks at, or where the limit is.
template <Pass kPass> __device__ void conclude(Scratch::Found& found, unsigned above, const Place& place, unsigned wanted) {
  found.above = 0;
  if (kPass == Pass::sample) {
    // The wanted key is about as far down its bin as its number says. Keys that far apart from it are told apart below
    // and above: the whole bin is among them, for in some vectors all keys of a bin are equal.
    const unsigned down = place.counted == 0 ? 0 : static_cast<unsigned>((static_cast<unsigned long long>(place.wanted) << kLowBits) / place.counted);
    const unsigned about = place.bin == 0 ? 0 : ((place.bin + 1) << kLowBits) - down;
    found.low = about > kBins / 2 ? about - kBins / 2 : 0;
  } else if (kPass == Pass::upper) {
    found.low = place.bin << kLowBits;
  } else {
    found.known = kPass == Pass::lower || (above < wanted && (place.bin > 0 || found.low == 0));
    found.marked = found.known && kPass == Pass::near_sample && place.bin > 0;
    found.limit = found.low + place.bin;
    found.room = place.wanted;
  }
}

inline constexpr unsigned kChunk = 1024;  // elements of a warp: 32 rows of 32
inline constexpr unsigned kBatch = 8;     // of these rows at once

// One row of each chunk, another one from chunk to chunk.
__device__ inline unsigned sampled_row(std::size_t chunk) { return static_cast<unsigned>(chunk) * 0x9e3779b9u >> 27; }

template <Pass kPass, class First, class Again>
__global__ void __launch_bounds__(kCounters, 2)
    count_keys(std::size_t n, First first, Again again, Scratch scratch, unsigned wanted) {
  __shared__ unsigned bins[kBins];
  Scratch::Found& found = *scratch.found;
  constexpr bool kAgain = kPass == Pass::upper || kPass == Pass::lower;
  if (kAgain && found.known) return;
  for (unsigned b = threadIdx.x; b < kBins; b += kCounters) bins[b] = 0;
  __syncthreads();

  constexpr bool kUpper = kPass == Pass::sample || kPass == Pass::upper;
  Counter counter{bins, kUpper ? 0 : found.low, kUpper ? kLowBits : 0};
  const unsigned lane = threadIdx.x % 32, warps = gridDim.x * (kCounters / 32);
  const std::size_t chunks = (n + kChunk - 1) / kChunk;
  for (std::size_t chunk = blockIdx.x * (kCounters / 32) + threadIdx.x / 32; chunk < chunks; chunk += warps) {
    const std::size_t begin = chunk * kChunk + lane;
    const unsigned sampled = sampled_row(chunk);
    const auto key_of = [&](unsigned row) {
      if (kAgain || std::is_same_v<First, Again>) return again(begin + row * 32);
      return row == sampled ? again(begin + row * 32) : first(begin + row * 32);
    };
    if (kPass == Pass::sample) {
      if (begin + sampled * 32 < n) counter.add(counter.place(first(begin + sampled * 32)));
      continue;
    }
    const bool whole = (chunk + 1) * kChunk <= n;
    Wanted mark{0, 0};
    for (unsigned row = 0; row < 32; row += kBatch) {
      // All loads are on their way before the first key is looked at.
      unsigned keys[kBatch];
#pragma unroll
      for (unsigned k = 0; k < kBatch; ++k) keys[k] = whole || begin + (row + k) * 32 < n ? key_of(row + k) : 0;
#pragma unroll
      for (unsigned k = 0; k < kBatch; ++k) {
        const int place = counter.place(keys[k]);
        counter.add(place);
        if (kPass != Pass::near_sample) continue;
        const unsigned above = __ballot_sync(0xffffffffu, place >= static_cast<int>(kBins));
        const unsigned near = __ballot_sync(0xffffffffu, place > 0) & ~above;
        if (lane == row + k) mark = {above, near};
      }
    }
    if (kPass == Pass::near_sample) scratch.marks[chunk * 32 + lane] = mark;
  }

  for (unsigned offset = 16; offset > 0; offset /= 2) counter.above += __shfl_xor_sync(0xffffffffu, counter.above, offset);
  if (lane == 0 && counter.above != 0) atomicAdd(&found.above, counter.above);
  __syncthreads();
  for (unsigned b = threadIdx.x; b < kBins; b += kCounters)
    if (bins[b] != 0) atomicAdd(scratch.bins + b, bins[b]);

  if (!arithmetic::last_to_arrive(&found.blocks_done, gridDim.x)) return;
  const unsigned above = __ldcg(&found.above);
  const Place place = find_place(scratch.bins, above, wanted);
  if (threadIdx.x == 0) conclude<kPass>(found, above, place, wanted);
}

// Of the elements of rows that are sampled, about as many are wanted as of all.
inline unsigned wanted_of_sample(std::size_t n, std::size_t wanted) {
  const std::size_t sampled = (n + 31) / 32;
  return static_cast<unsigned>((wanted * sampled + n - 1) / n);
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
  const std::size_t needed = (n + kCounters * 32 - 1) / (kCounters * 32);
  const auto blocks = static_cast<unsigned>(needed < kMostBlocks ? needed : kMostBlocks);
  const auto wanted = static_cast<unsigned>(indices.size());
  count_keys<Pass::sample><<<blocks, kCounters, 0, stream>>>(n, first, again, scratch, wanted_of_sample(n, wanted));
  count_keys<Pass::near_sample><<<blocks, kCounters, 0, stream>>>(n, first, again, scratch, wanted);
  count_keys<Pass::upper><<<blocks, kCounters, 0, stream>>>(n, first, again, scratch, wanted);
  count_keys<Pass::lower><<<blocks, kCounters, 0, stream>>>(n, first, again, scratch, wanted);
  select_tiles<<<tiles_of(n), arithmetic::kThreads, 0, stream>>>(n, Largest<Again>{again, scratch.found, scratch.marks}, scratch,
                                                                 indices, nullptr);
  arithmetic::check_launch();
}

}  // namespace mgcompare::cuda
