#include "cuda/dropout.h"

#include "cuda/device.h"
#include "cuda/launch.h"
#include "model/dropout.h"

namespace mgcompare::cuda {
namespace {

class Dropout : public Layer {
 public:
  Dropout(CudaDevice& device, const LayerSpec& spec, std::size_t index, Port& input, Tensor& output)
      : device_(device), rate_(spec.config.rate), index_(index), input_(input), output_(output) {}

  void forward(const Work& work) override { apply(work, input_.tensor->value, output_.value); }
  void backward(const Work& work) override {
    if (input_.tensor->needs_gradient) apply(work, output_.gradient, input_.gradient);
  }

  // The backward pass generates the mask again, which is cheaper than storing it. Each thread handles four units.
  void apply(const Work& work, const float* from, float* to) {
    if (!work.training || rate_ == 0) {
      device_.copy(to, from, output_.size(work.samples) * sizeof(float));
      return;
    }
    const std::size_t units = output_.features, quarters = (units + 3) / 4;
    const auto scale = static_cast<float>(1 / (1 - rate_));
    const double rate = rate_;
    const std::uint64_t seed = work.seed, epoch = work.epoch, index = index_;
    const std::uint32_t* const order = work.order;
    const CapturedStep captured_step = work.captured_step;
    for_each_index(device_.compute_stream(), work.samples * quarters, [=] __device__(std::size_t i) {
      const std::size_t sample = i / quarters, quarter = i % quarters;
      const DropoutMask mask(seed, captured_step.epoch(epoch), index, units, rate);
      const Random::Block bits = mask.bits(order[sample + captured_step.position_offset()], quarter);
      for (std::size_t k = 0; k < 4 && quarter * 4 + k < units; ++k) {
        const std::size_t at = sample * units + quarter * 4 + k;
        to[at] = mask.keeps(bits.words[k]) ? from[at] * scale : 0.0f;
      }
    });
  }

 private:
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
