#include "cuda/pixel_pairs.h"

#include "cuda/pack.h"

namespace mgcompare::cuda {
namespace {

// The filter as a matrix: a line for each (output, row), of `columns` or `pairs` times so many packs of inputs.
struct Filters {
  unsigned outputs, rows, columns, pairs, packs;
  int padding, before;              // in pixels and in pairs

  // The column of the kernel by which pixel `own` of a pair of the output reads pixel `other` of pair `pair` of the kernel; beyond
  // `columns` if it does not.
  __device__ unsigned column(unsigned own, unsigned pair, unsigned other) const {
    return static_cast<unsigned>(2 * (static_cast<int>(pair) - before) + static_cast<int>(other) - static_cast<int>(own) + padding);
  }
};

template <class T, int V> __global__ void expand_filter(Filters f, const Pack<T, V>* filter, Pack<T, V>* pairs, unsigned size) {
  wait_for_previous_kernel();
  for (auto i = static_cast<unsigned>(first_index()); i < size; i += static_cast<unsigned>(index_stride())) {
    const unsigned pack = i % f.packs, other = i / f.packs % 2, pair = i / f.packs / 2 % f.pairs;
    const unsigned line = i / f.packs / 2 / f.pairs, of_one = f.outputs * f.rows;  // of both pixels of the output
    const unsigned column = f.column(line / of_one, pair, other);
    Pack<T, V> values{};
    if (column < f.columns) values = filter[(line % of_one * f.columns + column) * f.packs + pack];
    pairs[i] = values;
  }
}

template <class T, int V> __global__ void fold_gradient(Filters f, const Pack<T, V>* pairs, Pack<T, V>* filter, unsigned size) {
  wait_for_previous_kernel();
  for (auto i = static_cast<unsigned>(first_index()); i < size; i += static_cast<unsigned>(index_stride())) {
    const unsigned pack = i % f.packs, column = i / f.packs % f.columns, line = i / f.packs / f.columns;
    float sums[V] = {};
#pragma unroll
    for (unsigned own = 0; own < 2; ++own) {
      // The pixel that it reads, counted from the first one of the kernel's pairs.
      const auto pixel = static_cast<unsigned>(static_cast<int>(own + column) - f.padding + 2 * f.before);
      const std::size_t from = (static_cast<std::size_t>(own * f.outputs * f.rows + line) * f.pairs * 2 + pixel) * f.packs + pack;
      const Pack<T, V> values = pairs[from];
#pragma unroll
      for (int k = 0; k < V; ++k) sums[k] += widened(values.items[k]);
    }
    store<V>(filter[i].items, sums);
  }
}

}  // namespace

std::optional<PixelPairs> PixelPairs::of(const ConvolutionProblem& p) {
  if (!p.channels_last || p.stride[1] != 1 || p.width % 2 != 0 || p.across % 2 != 0) return {};
  PixelPairs made;
  const auto number = [](std::int64_t value) { return static_cast<unsigned>(value); };
  made.outputs_ = number(p.out);
  made.inputs_ = number(p.in);
  made.rows_ = number(p.kernel[0]);
  made.columns_ = number(p.kernel[1]);
  made.padding_ = number(p.padding[1]);
  ConvolutionProblem& pairs = made.problem_ = p;
  pairs.in *= 2;
  pairs.out *= 2;
  pairs.width /= 2;
  pairs.across /= 2;
  pairs.padding[1] = (p.padding[1] + 1) / 2;
  const std::int64_t after = p.kernel[1] - p.padding[1];  // the last pixel that the second one of a pair reads, from the pair's first one
  pairs.kernel[1] = (after >= 0 ? after / 2 : (after - 1) / 2) + pairs.padding[1] + 1;
  if (pairs.kernel[1] < 1 || pairs.across != pairs.width + 2 * pairs.padding[1] - pairs.kernel[1] + 1) return {};
  return made;
}

std::size_t PixelPairs::filter_size() const {
  return std::size_t{4} * outputs_ * inputs_ * rows_ * static_cast<std::size_t>(problem_.kernel[1]);
}

template <class F> void PixelPairs::with_packs(const void* filter, const void* pairs, F f) const {
  Filters filters{outputs_, rows_, columns_, static_cast<unsigned>(problem_.kernel[1]), 1, static_cast<int>(padding_),
                  static_cast<int>(problem_.padding[1])};
  with_element(problem_.element, [&](auto type) {
    using T = decltype(type);
    with_pack_size(
        inputs_,
        [&](auto pack) {
          filters.packs = inputs_ / decltype(pack)::value;
          f(filters, pack, type);
        },
        static_cast<const T*>(filter), static_cast<const T*>(pairs));
  });
}

void PixelPairs::expand(cudaStream_t stream, const void* filter, void* pairs) const {
  with_packs(filter, pairs, [&](const Filters& f, auto pack, auto type) {
    constexpr int V = decltype(pack)::value;
    using P = Pack<decltype(type), V>;
    const auto size = static_cast<unsigned>(filter_size() / V);
    launch(stream, blocks_for(size), kThreads, 0, expand_filter<decltype(type), V>, f, static_cast<const P*>(filter),
           static_cast<P*>(pairs), size);
  });
}

void PixelPairs::fold(cudaStream_t stream, const void* pairs, void* filter) const {
  with_packs(filter, pairs, [&](const Filters& f, auto pack, auto type) {
    constexpr int V = decltype(pack)::value;
    using P = Pack<decltype(type), V>;
    const unsigned size = outputs_ * rows_ * columns_ * f.packs;
    launch(stream, blocks_for(size), kThreads, 0, fold_gradient<decltype(type), V>, f, static_cast<const P*>(pairs),
           static_cast<P*>(filter), size);
  });
}

}  // namespace mgcompare::cuda
