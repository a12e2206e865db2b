#include "cpu/dropout.h"

#include <algorithm>
#include <cstring>

#include "model/dropout.h"

namespace mgcompare {
namespace {

class Dropout : public Layer {
 public:
  Dropout(Device& device, const LayerSpec& spec, std::size_t index, Port& input, Tensor& output)
      : device_(device), rate_(spec.config.rate), index_(index), input_(input), output_(output) {}

  void reserve(std::size_t samples) override { mask_ = Array<float>(device_, output_.size(samples)); }

  void forward(const Work& work) override {
    const std::size_t size = output_.size(work.samples);
    if (!work.training || rate_ == 0) {
      std::memcpy(output_.value, input_.tensor->value, size * sizeof(float));
      return;
    }
    generate_mask(work);
    for (std::size_t i = 0; i < size; ++i) output_.value[i] = input_.tensor->value[i] * mask_[i];
  }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    const std::size_t size = output_.size(work.samples);
    if (!work.training || rate_ == 0) {
      std::memcpy(input_.gradient, output_.gradient, size * sizeof(float));
      return;
    }
    for (std::size_t i = 0; i < size; ++i) input_.gradient[i] = output_.gradient[i] * mask_[i];
  }

 private:
  void generate_mask(const Work& work) {
    const std::size_t units = output_.features;
    const DropoutMask mask(work.seed, work.epoch, index_, units, rate_);
    const auto scale = static_cast<float>(1 / (1 - rate_));
    const std::size_t step = output_.blocked ? kLanes : 1;
    for (std::size_t sample = 0; sample < work.samples; ++sample) {
      float* to = mask_.data() +
                  (output_.blocked ? sample / kLanes * units * kLanes + sample % kLanes : sample * units);
      for (std::size_t unit = 0; unit < units; unit += 4) {
        const Random::Block bits = mask.bits(work.ids[sample], unit / 4);
        for (std::size_t k = 0; k < std::min<std::size_t>(4, units - unit); ++k, to += step) {
          *to = mask.keeps(bits.words[k]) ? scale : 0.0f;
        }
      }
    }
  }

  Device& device_;
  double rate_;
  std::size_t index_;
  Port& input_;
  Tensor& output_;
  Array<float> mask_;               // 0 or the scale; stale in lanes without a sample
};

}  // namespace

std::unique_ptr<Layer> make_dropout(Device& device, const LayerSpec& spec, std::size_t index, Port& input,
                                    Tensor& output) {
  return std::make_unique<Dropout>(device, spec, index, input, output);
}

}  // namespace mgcompare
