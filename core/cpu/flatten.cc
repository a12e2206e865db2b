#include "cpu/flatten.h"

#include <algorithm>

namespace mgcompare {
namespace {

class Flatten : public Layer {
 public:
  Flatten(Port& input, Tensor& output) : input_(input), output_(output) {}

  void forward(const Work& work) override {
    const std::size_t features = output_.features;
    for_each_square(work.samples, [&](std::size_t first, std::size_t count, std::size_t f, std::size_t width) {
      const float* const from = input_.tensor->value + (first * features + f * kLanes);
      float* const to = output_.value + first * features + f;
      for (std::size_t lane = 0; lane < count; ++lane) {
        for (std::size_t i = 0; i < width; ++i) to[lane * features + i] = from[i * kLanes + lane];
      }
    });
  }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    const std::size_t features = output_.features;
    for_each_square(work.samples, [&](std::size_t first, std::size_t count, std::size_t f, std::size_t width) {
      const float* const from = output_.gradient + first * features + f;
      float* const to = input_.gradient + (first * features + f * kLanes);
      for (std::size_t i = 0; i < width; ++i) {
        for (std::size_t lane = 0; lane < count; ++lane) to[i * kLanes + lane] = from[lane * features + i];
        for (std::size_t lane = count; lane < kLanes; ++lane) to[i * kLanes + lane] = 0;
      }
    });
  }

 private:
  // Transposes tiles of 16 samples by 16 features, whose source and destination fit into the L1 cache.
  template <class F> void for_each_square(std::size_t samples, F f) const {
    for (std::size_t first = 0; first < samples; first += kLanes) {
      const std::size_t count = std::min(kLanes, samples - first);
      for (std::size_t feature = 0; feature < output_.features; feature += 16) {
        f(first, count, feature, std::min<std::size_t>(16, output_.features - feature));
      }
    }
  }

  Port& input_;
  Tensor& output_;
};

}  // namespace

std::unique_ptr<Layer> make_flatten(Port& input, Tensor& output) { return std::make_unique<Flatten>(input, output); }

}  // namespace mgcompare
