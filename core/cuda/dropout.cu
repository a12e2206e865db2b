#include "cuda/dropout.h"

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
};

// What the mask depends on, besides the sample. The epoch of a captured step is in device memory.
struct Seeds {
  std::uint64_t seed, epoch, layer;
  double rate;
};

// One thread per block of four units of the mask. In channels-last order, neighbouring threads have the same pixels of
// neighbouring channels if no block spans two channels.
template <class T>
__global__ void drop(std::size_t blocks, Order order, Seeds seeds, const std::uint32_t* samples, CapturedStep step, float scale,
                     const T* from, T* to) {
  const std::size_t units = static_cast<std::size_t>(order.channels) * order.pixels, quarters = (units + 3) / 4;
  const bool apart = order.channels_last && order.pixels % 4 == 0;
  wait_for_previous_kernel();
  const DropoutMask mask(seeds.seed, step.epoch(seeds.epoch), seeds.layer, units, seeds.rate);
  for (std::size_t i = first_index(); i < blocks; i += index_stride()) {
    const std::size_t sample = i / quarters, part = i % quarters;
    const std::size_t quarter = apart ? part % order.channels * (order.pixels / 4) + part / order.channels : part;
    const Random::Block bits = mask.bits(samples[sample + step.position_offset()], quarter);
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      const std::size_t unit = quarter * 4 + k;
      if (unit >= units) continue;
      const std::size_t at = sample * units + (order.channels_last ? unit % order.pixels * order.channels + unit / order.pixels : unit);
      to[at] = narrowed<T>(mask.keeps(bits.words[k]) ? widened(from[at]) * scale : 0.0f);
    }
  }
}

class Dropout : public Layer {
 public:
  Dropout(CudaDevice& device, const LayerSpec& spec, std::size_t index, Port& input, Tensor& output)
      : device_(device), rate_(spec.config.rate), index_(index), input_(input), output_(output) {}

  void forward(const Work& work) override { apply(work, input_.tensor->value, output_.value); }
  void backward(const Work& work) override {
    if (input_.tensor->needs_gradient) apply(work, output_.gradient, input_.gradient);
  }

 private:
  // The backward pass generates the mask again, which is cheaper than storing it.
  void apply(const Work& work, const void* from, void* to) const {
    if (!work.training || rate_ == 0) return copy_vector(device_, output_.format.element, to, from, output_.size(work.samples));
    const std::size_t blocks = work.samples * ((output_.features + 3) / 4);
    if (blocks == 0) return;
    const Order order{static_cast<unsigned>(output_.channels), static_cast<unsigned>(output_.pixels()), output_.reordered()};
    const Seeds seeds{work.seed, work.epoch, index_, rate_};
    with_element(output_.format.element, [&](auto type) {
      using T = decltype(type);
      launch(device_.compute_stream(), blocks_for(blocks), kThreads, 0, drop<T>, blocks, order, seeds, work.order,
             work.captured_step, static_cast<float>(1 / (1 - rate_)), static_cast<const T*>(from), static_cast<T*>(to));
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
