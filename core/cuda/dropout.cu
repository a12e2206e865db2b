#include "cuda/dropout.h"

#include "cuda/activation_math.h"
#include "cuda/device.h"
#include "cuda/dropping.h"
#include "cuda/merge.h"
#include "cuda/pack.h"

namespace mgcompare::cuda {
namespace {

// Where unit u of a sample, counted in the specification's order, is stored.
struct Order {
  unsigned channels, pixels;
  bool channels_last;

  // Blocks of four units of the mask: that a channel may touch, or else of a sample.
  __host__ __device__ unsigned blocks() const { return channels_last ? (pixels + 6) / 4 : (channels * pixels + 3) / 4; }
};

// Where the units of a block of the mask are stored in their sample, and which of them exist.
struct Quarter {
  unsigned sample, number;          // the block's
  unsigned at[4];
  bool inside[4];
};

// One thread per block of four units of the mask. In channels-last order a block may span two channels; it then has a thread
// for each, so that neighbouring threads have about the same pixels of neighbouring channels.
template <class Index> __device__ Quarter quarter_of(const Order& order, Index thread) {
  const unsigned units = order.channels * order.pixels, blocks = order.blocks(), columns = order.channels_last ? order.channels : 1;
  const unsigned channel = static_cast<unsigned>(thread % columns);
  Quarter quarter{static_cast<unsigned>(thread / columns / blocks), channel * order.pixels / 4 + static_cast<unsigned>(thread / columns % blocks), {}, {}};
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned unit = quarter.number * 4 + k, pixel = unit - channel * order.pixels;
    // Below the channel's first unit the difference wraps around.
    quarter.inside[k] = order.channels_last ? pixel < order.pixels : unit < units;
    quarter.at[k] = order.channels_last ? pixel * order.channels + channel : unit;
  }
  return quarter;
}

template <class Index, class T>
__global__ void drop(Index threads, Order order, Dropping dropping, float scale, const T* from, T* to) {
  const unsigned units = order.channels * order.pixels;
  wait_for_previous_kernel();
  const DropoutMask mask = dropping.mask(units);
  for (Index i = static_cast<Index>(first_index()); i < threads; i += static_cast<Index>(index_stride())) {
    const Quarter quarter = quarter_of(order, i);
    const T* const source = from + static_cast<std::size_t>(quarter.sample) * units;
    T* const target = to + static_cast<std::size_t>(quarter.sample) * units;
    // Loaded first, so that drawing the mask hides the latency of memory.
    T values[4];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k)
      if (quarter.inside[k]) values[k] = source[quarter.at[k]];
    const Random::Block bits = mask.bits(dropping.sample(quarter.sample), quarter.number);
#pragma unroll
    for (unsigned k = 0; k < 4; ++k)
      if (quarter.inside[k]) target[quarter.at[k]] = narrowed<T>(mask.keeps(bits.words[k]) ? widened(values[k]) * scale : 0.0f);
  }
}

template <class Index> __global__ void store_mask(Index threads, Order order, Dropping dropping, std::uint8_t* keeps) {
  const unsigned units = order.channels * order.pixels;
  wait_for_previous_kernel();
  const DropoutMask mask = dropping.mask(units);
  for (Index i = static_cast<Index>(first_index()); i < threads; i += static_cast<Index>(index_stride())) {
    const Quarter quarter = quarter_of(order, i);
    const Random::Block bits = mask.bits(dropping.sample(quarter.sample), quarter.number);
#pragma unroll
    for (unsigned k = 0; k < 4; ++k)
      if (quarter.inside[k]) keeps[static_cast<std::size_t>(quarter.sample) * units + quarter.at[k]] = mask.keeps(bits.words[k]) ? 1 : 0;
  }
}

Order order_of(const Tensor& units) {
  return {static_cast<unsigned>(units.channels), static_cast<unsigned>(units.pixels()), units.reordered()};
}
std::size_t threads_of(const Order& order, std::size_t samples) { return samples * order.blocks() * (order.channels_last ? order.channels : 1); }

// The derivative of relu and the dropout after it, from the output of both: a unit that was dropped is zero like one that relu cut off.
struct ReluSlope {
  float scale;
  __device__ float operator()(float gradient, float y) const { return activation_gradient<Activation::relu>(y, gradient * scale); }
};

class Dropout : public Layer {
 public:
  Dropout(CudaDevice& device, const LayerSpec& spec, std::size_t index, Port& input, Tensor& output)
      : device_(device), rate_(spec.config.rate), index_(index), input_(input), output_(output) {}

  void forward(const Work& work) override { apply(work, input_.tensor->value, output_.value); }
  // The mask is generated again, which is cheaper than storing it, unless the output tells it.
  void backward(const Work& work) override {
    Tensor& input = *input_.tensor;
    if (!input.needs_gradient) return;
    const Dropping dropping(work, rate_, index_);
    input.differentiated = input.offered == Activation::relu && dropping.drops();
    if (!input.differentiated) return apply(work, output_.gradient, input_.gradient);
    with_element(output_.format.element, [&](auto type) {
      using T = decltype(type);
      map(device_.compute_stream(), output_.size(work.samples), ReluSlope{dropping.scale()}, static_cast<T*>(input_.gradient),
          static_cast<const T*>(output_.gradient), static_cast<const T*>(output_.value));
    });
  }

 private:
  void apply(const Work& work, const void* from, void* to) const {
    const Dropping dropping(work, rate_, index_);
    if (!dropping.drops()) return copy_vector(device_, output_.format.element, to, from, output_.size(work.samples));
    const Order order = order_of(output_);
    const std::size_t threads = threads_of(order, work.samples);
    if (threads == 0) return;
    with_element(output_.format.element, [&](auto type) {
      with_index(threads, [&](auto index) {
        using T = decltype(type);
        launch(device_.compute_stream(), blocks_for(threads), kThreads, 0, drop<decltype(index), T>, threads, order, dropping,
               dropping.scale(), static_cast<const T*>(from), static_cast<T*>(to));
      });
    });
  }

  CudaDevice& device_;
  double rate_;
  std::size_t index_;
  Port& input_;
  Tensor& output_;
};

}  // namespace

void draw_mask(cudaStream_t stream, const Dropping& dropping, const Tensor& units, std::size_t samples, std::uint8_t* keeps) {
  const Order order = order_of(units);
  const std::size_t threads = threads_of(order, samples);
  if (threads == 0) return;
  with_index(threads, [&](auto index) {
    launch(stream, blocks_for(threads), kThreads, 0, store_mask<decltype(index)>, threads, order, dropping, keeps);
  });
}

std::unique_ptr<Layer> make_dropout(CudaDevice& device, const LayerSpec& spec, std::size_t index, Port& input,
                                    Tensor& output) {
  return std::make_unique<Dropout>(device, spec, index, input, output);
}

}  // namespace mgcompare::cuda
