#include "cuda/pooling.h"

#include "cuda/device.h"
#include "cuda/launch.h"

namespace mgcompare::cuda {
namespace {

struct Geometry {
  int height, width, down, across;
  int kernel[2], stride[2], padding[2];
};

class Pooling : public Layer {
 public:
  Pooling(CudaDevice& device, const LayerSpec& spec, bool average, Port& input, Tensor& output)
      : device_(device), average_(average), input_(input), output_(output) {
    const Shape& in = spec.input_shapes.front();
    geometry_ = {static_cast<int>(in[1]), static_cast<int>(in[2]), static_cast<int>(spec.output_shape[1]),
                 static_cast<int>(spec.output_shape[2]), {}, {}, {}};
    for (int axis : {0, 1}) {
      geometry_.kernel[axis] = static_cast<int>(spec.config.kernel[axis]);
      geometry_.stride[axis] = static_cast<int>(spec.config.stride[axis]);
      geometry_.padding[axis] = static_cast<int>(spec.config.padding[axis]);
    }
  }

  void reserve(std::size_t samples) override {
    if (!average_) winners_ = device_array<int>(device_, output_.size(samples));
  }

  void forward(const Work& work) override {
    const Geometry g = geometry_;
    const float* const in = input_.tensor->value;
    float* const out = output_.value;
    int* const winners = winners_.data();
    const bool average = average_;
    for_each_index(device_.compute_stream(), output_.size(work.samples), [=] __device__(std::size_t i) {
      const int x = static_cast<int>(i % g.across), y = static_cast<int>(i / g.across % g.down);
      const std::size_t plane = i / g.across / g.down;
      const float* const image = in + plane * g.height * g.width;
      const int top = y * g.stride[0] - g.padding[0], left = x * g.stride[1] - g.padding[1];
      const int first_row = max(top, 0), first_column = max(left, 0);
      const int last_row = min(top + g.kernel[0], g.height), last_column = min(left + g.kernel[1], g.width);
      float best = image[first_row * g.width + first_column], sum = 0;
      int winner = first_row * g.width + first_column;
      for (int row = first_row; row < last_row; ++row) {
        for (int column = first_column; column < last_column; ++column) {
          const float value = image[row * g.width + column];
          sum += value;
          // NaN must propagate, or divergence could go unnoticed.
          if (value <= best || best != best) continue;
          best = value;
          winner = row * g.width + column;
        }
      }
      out[i] = average ? sum / static_cast<float>(g.kernel[0] * g.kernel[1]) : best;
      if (!average) winners[i] = winner;
    });
  }

  // Each pixel sums over the windows that contain it: deterministic, without atomic additions.
  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    const Geometry g = geometry_;
    const float* const from = output_.gradient;
    float* const to = input_.gradient;
    const int* const winners = winners_.data();
    const bool average = average_;
    for_each_index(device_.compute_stream(), input_.tensor->size(work.samples), [=] __device__(std::size_t i) {
      const int pixel = static_cast<int>(i % (static_cast<std::size_t>(g.height) * g.width));
      const std::size_t plane = i / (static_cast<std::size_t>(g.height) * g.width);
      const int y = pixel / g.width + g.padding[0], x = pixel % g.width + g.padding[1];
      const int last_y = min(y / g.stride[0], g.down - 1), last_x = min(x / g.stride[1], g.across - 1);
      float sum = 0;
      for (int wy = max(0, (y - g.kernel[0]) / g.stride[0]); wy <= last_y; ++wy) {
        if (wy * g.stride[0] + g.kernel[0] <= y) continue;
        for (int wx = max(0, (x - g.kernel[1]) / g.stride[1]); wx <= last_x; ++wx) {
          if (wx * g.stride[1] + g.kernel[1] <= x) continue;
          const std::size_t at = (plane * g.down + wy) * g.across + wx;
          if (average) sum += from[at] / static_cast<float>(g.kernel[0] * g.kernel[1]);
          else if (winners[at] == pixel) sum += from[at];
        }
      }
      to[i] = sum;
    });
  }

 private:
  CudaDevice& device_;
  bool average_;
  Port& input_;
  Tensor& output_;
  Geometry geometry_{};
  Array<int> winners_;              // pixel index of each maximum in its plane
};

}  // namespace

std::unique_ptr<Layer> make_pooling(CudaDevice& device, const LayerSpec& spec, bool average, Port& input,
                                    Tensor& output) {
  return std::make_unique<Pooling>(device, spec, average, input, output);
}

}  // namespace mgcompare::cuda
