#pragma once

// Loads and stores of up to 16 bytes per thread, as float32 in registers whatever the type in memory. For nvcc only.

#include <cuda_bf16.h>

#include <cstddef>
#include <cstdint>

#include "cuda/element.h"
#include "cuda/launch.h"

namespace mgcompare::cuda {

// Calls f(T()) with the type that stores `element`.
template <class F> void with_element(Element element, F f) {
  if (element == Element::bf16) return f(__nv_bfloat16());
  return f(float());
}

// Number of elements of 16 bytes.
template <class T> inline constexpr int kPack = 16 / sizeof(T);

template <class T, int V> struct alignas(sizeof(T) * V) Pack {
  T items[V];
};

__device__ inline float widened(float value) { return value; }
__device__ inline float widened(__nv_bfloat16 value) { return __bfloat162float(value); }
template <class T> __device__ inline T narrowed(float value) {
  if constexpr (sizeof(T) == 2) return __float2bfloat16_rn(value);
  else return value;
}

// `from` and `to` must be aligned to V elements.
template <int V, class T> __device__ inline void load(const T* from, float (&values)[V]) {
  const auto pack = *reinterpret_cast<const Pack<T, V>*>(from);
#pragma unroll
  for (int k = 0; k < V; ++k) values[k] = widened(pack.items[k]);
}

template <int V, class T> __device__ inline void store(T* to, const float (&values)[V]) {
  Pack<T, V> pack;
#pragma unroll
  for (int k = 0; k < V; ++k) pack.items[k] = narrowed<T>(values[k]);
  *reinterpret_cast<Pack<T, V>*>(to) = pack;
}

template <class T> bool is_packed(const T* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

template <int V> struct PackSize {
  static constexpr int value = V;
};

// Calls f(PackSize<V>()): as many elements as 16 bytes hold if `size` is a multiple of them and all pointers are aligned to 16
// bytes, otherwise one.
template <class F, class T, class... Rest> void with_pack_size(std::size_t size, F f, const T* first, const Rest*... rest) {
  if (size % kPack<T> == 0 && is_packed(first) && (is_packed(rest) && ...)) return f(PackSize<kPack<T>>());
  return f(PackSize<1>());
}

// Calls f(Index()) with the narrowest unsigned type that counts `size` elements: 64-bit divisions cost a kernel more than its
// loads.
template <class F> void with_index(std::size_t size, F f) {
  if (size < (std::size_t{1} << 31)) return f(unsigned{});
  return f(std::size_t{});
}

// A power of two of threads for neighbouring packs of a row, up to `most`; the other threads of a block have other rows.
inline unsigned lanes_for(std::size_t packs, unsigned most) {
  unsigned lanes = 1;
  while (lanes < most && lanes < packs) lanes *= 2;
  return lanes;
}

namespace kernels {
template <int V, class F, class T, class... From>
__global__ void map(std::size_t packs, F f, T* to, const From*... from) {
  wait_for_previous_kernel();
  for (std::size_t i = first_index(); i < packs; i += index_stride()) {
    float result[V];
    const auto loaded = [&](auto pointer) {
      struct { float values[V]; } held;
      load<V>(pointer + i * V, held.values);
      return held;
    };
    const auto apply = [&](const auto&... held) {
#pragma unroll
      for (int k = 0; k < V; ++k) result[k] = f(held.values[k]...);
    };
    apply(loaded(from)...);
    store<V>(to + i * V, result);
  }
}
}  // namespace kernels

// to[i] = f(from[i]...) for i in [0, size), on floats. `to` may be one of `from`.
template <class F, class T, class... From>
void map(cudaStream_t stream, std::size_t size, F f, T* to, const From*... from) {
  if (size == 0) return;
  with_pack_size(
      size,
      [&](auto pack) {
        constexpr int V = decltype(pack)::value;
        launch(stream, blocks_for(size / V), kThreads, 0, kernels::map<V, F, T, From...>, size / V, f, to, from...);
      },
      to, from...);
}

}  // namespace mgcompare::cuda
