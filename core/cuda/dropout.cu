#include "cuda/dropout.h"

#include "cuda/activation_math.h"
#include "cuda/device.h"
#include "cuda/merge.h"
#include "cuda/pack.h"
#include "model/dropout.h"

namespace mgcompare::cuda {
namespace {

// Where unit u of a sample, counted in the specification's order, is stored.
struct Order {
  unsigned channels, pixels;
  bool channels_last;

  // Blocks of four units of the mask: that a channel may touch, or else of a sample.
  __host__ __device__ unsigned blocks() const { return channels_last ? (pixels + 6) / 4 : (channels * pixels + 3) / 4; }
};

// What the mask depends on, besides the sample. The epoch of a captured step is in device memory.
struct Seeds {
  std::uint64_t seed, epoch, layer;
  double rate;
};

// One thread per block of four units of the mask. In channels-last order a block may span two channels; it then has a thread
// for each, so that neighbouring threads have about the same pixels of neighbouring channels.
template <class Index, class T>
__global__ void drop(Index threads, Order order, Seeds seeds, const std::uint32_t* samples, CapturedStep step, float scale,
                     const T* from, T* to) {
  const unsigned units = order.channels * order.pixels, blocks = order.blocks(), columns = order.channels_last ? order.channels : 1;
  wait_for_previous_kernel();
  const DropoutMask mask(seeds.seed, step.epoch(seeds.epoch), seeds.layer, units, seeds.rate);
  for (Index i = static_cast<Index>(first_index()); i < threads; i += static_cast<Index>(index_stride())) {
    const unsigned channel = static_cast<unsigned>(i % columns), sample = static_cast<unsigned>(i / columns / blocks);
    const unsigned quarter = channel * order.pixels / 4 + static_cast<unsigned>(i / columns % blocks);
    const T* const source = from + static_cast<std::size_t>(sample) * units;
    T* const target = to + static_cast<std::size_t>(sample) * units;
    // Loaded first, so that drawing the mask hides the latency of memory.
    unsigned at[4];
    bool inside[4];
    T values[4];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      const unsigned unit = quarter * 4 + k, pixel = unit - channel * order.pixels;
      // Below the channel's first unit the difference wraps around.
      inside[k] = order.channels_last ? pixel < order.pixels : unit < units;
      at[k] = order.channels_last ? pixel * order.channels + channel : unit;
      if (inside[k]) values[k] = source[at[k]];
    }
    const Random::Block bits = mask.bits(samples[sample + step.position_offset()], quarter);
#pragma unroll
    for (unsigned k = 0; k < 4; ++k)
      if (inside[k]) target[at[k]] = narrowed<T>(mask.keeps(bits.words[k]) ? widened(values[k]) * scale : 0.0f);
  }
}

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
    input.differentiated = input.offered == Activation::relu && drops(work);
    if (!input.differentiated) return apply(work, output_.gradient, input_.gradient);
    with_element(output_.format.element, [&](auto type) {
      using T = decltype(type);
      map(device_.compute_stream(), output_.size(work.samples), ReluSlope{scale()}, static_cast<T*>(input_.gradient),
          static_cast<const T*>(output_.gradient), static_cast<const T*>(output_.value));
    });
  }

 private:
  bool drops(const Work& work) const { return work.training && rate_ > 0; }
  float scale() const { return static_cast<float>(1 / (1 - rate_)); }

  void apply(const Work& work, const void* from, void* to) const {
    if (!drops(work)) return copy_vector(device_, output_.format.element, to, from, output_.size(work.samples));
    const Order order{static_cast<unsigned>(output_.channels), static_cast<unsigned>(output_.pixels()), output_.reordered()};
    const Seeds seeds{work.seed, work.epoch, index_, rate_};
    const std::size_t threads = work.samples * order.blocks() * (order.channels_last ? order.channels : 1);
    if (threads == 0) return;
    with_element(output_.format.element, [&](auto type) {
      with_index(threads, [&](auto index) {
        using T = decltype(type);
        launch(device_.compute_stream(), blocks_for(threads), kThreads, 0, drop<decltype(index), T>, threads, order, seeds, work.order,
               work.captured_step, scale(), static_cast<const T*>(from), static_cast<T*>(to));
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

std::unique_ptr<Layer> make_dropout(CudaDevice& device, const LayerSpec& spec, std::size_t index, Port& input,
                                    Tensor& output) {
  return std::make_unique<Dropout>(device, spec, index, input, output);
}

}  // namespace mgcompare::cuda
