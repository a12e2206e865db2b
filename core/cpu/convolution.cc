#include "cpu/convolution.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "cpu/pooled_rows.h"
#include "cpu/winograd.h"

namespace mgcompare {
namespace {

// The weight kernel accumulates at least this many pixels before it sums the lanes, which costs as much as ten pixels.
constexpr std::size_t kPixelsPerSum = 256;

// The input rows of a band stay in the L2 cache while all outputs are computed from them.
constexpr std::size_t kBandBytes = std::size_t{1} << 20;

class Convolution : public LayerOfParts {
 public:
  Convolution(Device& device, const LayerSpec& spec, const Fusion& fusion, Port& input, Tensor& output)
      : device_(device), spec_(spec), activation_(fusion.activation), input_(input), output_(output) {
    const LayerConfig& config = spec.config;
    const Shape& in = spec.input_shapes.front();
    padding_[0] = config.padding[0];
    padding_[1] = config.padding[1];
    shape_ = {in[0], in[1] + 2 * padding_[0], in[2] + 2 * padding_[1], config.channels, spec.output_shape[1],
              spec.output_shape[2], config.kernel[0], config.kernel[1], config.stride[0], config.stride[1]};
    if (fusion.pool != nullptr) pooled_ = PooledRows(fusion.pool->config, shape_.out_width);
    for (std::size_t c = 0; c < shape_.channels; ++c) {
      for (std::size_t y = 0; y < shape_.kernel_height; ++y) {
        for (std::size_t x = 0; x < shape_.kernel_width; ++x) {
          offsets_.push_back(static_cast<std::uint32_t>(((c * shape_.height + y) * shape_.width + x) * kLanes));
        }
      }
    }
    bias_sums_.resize(shape_.outputs);
    group_ = std::max<std::size_t>(1, kPixelsPerSum / shape_.output_plane());
    if (pooled_.exists()) out_gradient_ = Array<float>(device, group_ * shape_.outputs * shape_.output_plane() * kLanes);
    if (transforms()) {
      const WinogradShape shape{in[0], in[1], in[2], shape_.outputs, {padding_[0], padding_[1]}};
      filters_.emplace(shape);
      summed_.emplace(shape);
      if (input.tensor->needs_gradient) transposed_filters_.emplace(shape.transposed());
      return;
    }
    packed_ = Array<float>(device, shape_.outputs * shape_.terms());
    band_ = rows_of_band();
    if (pooled_.exists()) rows_ = Array<float>(device, kTile * pooled_.pixels() * kLanes);
    if (padded()) {
      padded_input_ = Array<float>(device, group_ * shape_.input_size() * kLanes);
      padded_gradient_ = Array<float>(device, shape_.input_size() * kLanes);
    }
  }

  void reserve(std::size_t samples) override {
    if (pooled_.exists()) pooled_.reserve(device_, output_.size(samples));
  }

  std::size_t samples_of_part() const override { return group_ * kLanes; }

  void begin_forward(const Work& work) override {
    const float* const weights = work.weights + spec_.weights.begin;
    if (filters_) filters_->load(weights, false);
    else pack_for_outputs(weights);
  }

  void forward_part(const Work& work, Range samples) override {
    const float* const bias = spec_.bias.size() == 0 ? nullptr : work.weights + spec_.bias.begin;
    const Range blocks{samples.begin / kLanes, blocks_of(samples.end)};
    if (filters_) return transformed_forward(bias, blocks);
    const std::size_t rows = output_.shape[1];
    for (std::size_t b = blocks.begin; b < blocks.end; ++b) {
      const float* const in = padded_block(b, 0);
      for (std::size_t y = 0; y < rows; y += band_) {
        const Range band{y, std::min(y + band_, rows)};
        for (std::size_t o = 0; o < shape_.outputs; o += kTile) {
          const float* const tile_bias = bias == nullptr ? nullptr : bias + o;
          if (pooled_.exists()) pooled_tile(in, tile_bias, b, o, band);
          else plain_tile(in, tile_bias, b, o, band);
        }
      }
    }
  }

  void begin_backward(const Work& work) override {
    if (work.samples == 0) std::memset(work.gradients + spec_.weights.begin, 0, spec_.weights.size() * sizeof(float));
    std::fill(bias_sums_.begin(), bias_sums_.end(), 0.0);
    if (summed_) summed_->begin();
    if (transposed_filters_) transposed_filters_->load(work.weights + spec_.weights.begin, true);
    else if (input_.tensor->needs_gradient) pack_for_terms(work.weights + spec_.weights.begin);
  }

  void backward_part(const Work& work, Range samples) override {
    const Range blocks{samples.begin / kLanes, blocks_of(samples.end)};
    for (std::size_t b = blocks.begin; b < blocks.end; b += group_) {
      const std::size_t count = std::min(group_, blocks.end - b);
      const float* const gradient = gradient_before_activation(b, count);
      if (summed_) {
        transformed_backward(gradient, b, count);
        continue;
      }
      const float* const in = padded_group(b, count);
      kernels().convolve_weights(shape_, offsets_.data(), in, gradient, count, b == 0, work.gradients + spec_.weights.begin);
      if (!input_.tensor->needs_gradient) continue;
      for (std::size_t k = 0; k < count; ++k) {
        backward_data(gradient + k * shape_.outputs * shape_.output_plane() * kLanes, b + k);
      }
    }
  }

  void end_backward(const Work& work) override {
    if (summed_ && work.samples > 0) summed_->finish(work.gradients + spec_.weights.begin);
    if (spec_.bias.size() == 0) return;
    for (std::size_t o = 0; o < shape_.outputs; ++o) {
      work.gradients[spec_.bias.begin + o] = static_cast<float>(bias_sums_[o]);
    }
  }

 private:
  // Whether the convolution is Winograd's (winograd.h).
  bool transforms() const {
    return shape_.kernel_height == 3 && shape_.kernel_width == 3 && shape_.stride_height == 1 && shape_.stride_width == 1 &&
           padding_[0] <= 2 && padding_[1] <= 2 && pays(shape_.channels, shape_.outputs);
  }
  bool padded() const { return padding_[0] + padding_[1] > 0; }
  std::size_t tile(std::size_t first, std::size_t all) const { return std::min(kTile, all - first); }

  const float* input_block(std::size_t block) const { return input_.tensor->value + block * input_.tensor->features * kLanes; }

  // Pooled: `out_gradient_` holds the output of a block before pooling.
  void transformed_forward(const float* bias, Range blocks) {
    const std::size_t plane = shape_.output_plane() * kLanes;
    for (std::size_t b = blocks.begin; b < blocks.end; ++b) {
      float* const out = pooled_.exists() ? out_gradient_.data() : output_.value + b * shape_.outputs * plane;
      filters_->convolve(input_block(b), bias, out);
      if (!pooled_.exists()) {
        kernels().activate(activation_, out, shape_.outputs * plane);
        continue;
      }
      for (std::size_t o = 0; o < shape_.outputs; ++o) {
        for (std::size_t y = 0; y < output_.shape[1]; ++y)
          pooled_.pool(out + o * plane + y * pooled_.pixels() * kLanes, activation_, output_.value, output_row(b, o, y));
      }
    }
  }

  void transformed_backward(const float* gradient, std::size_t block, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      const float* const slopes = gradient + k * shape_.outputs * shape_.output_plane() * kLanes;
      summed_->add(input_block(block + k), slopes);
      if (transposed_filters_)
        transposed_filters_->convolve(slopes, nullptr, input_.gradient + (block + k) * input_.tensor->features * kLanes);
    }
  }

  // Output rows, after pooling, whose input is at most kBandBytes.
  std::size_t rows_of_band() const {
    const std::size_t row = shape_.channels * shape_.width * kLanes * sizeof(float);
    const std::size_t input_rows = std::max(kBandBytes / row, shape_.kernel_height);
    const std::size_t rows = (input_rows - shape_.kernel_height) / shape_.stride_height + 1;
    return std::max<std::size_t>(1, pooled_.exists() ? rows / pooled_.height() : rows);
  }

  // (tile of outputs, terms, outputs of the tile)
  void pack_for_outputs(const float* weights) {
    const std::size_t terms = shape_.terms();
    float* to = packed_.data();
    for (std::size_t o = 0; o < shape_.outputs; o += kTile) {
      const std::size_t count = tile(o, shape_.outputs);
      for (std::size_t t = 0; t < terms; ++t) {
        for (std::size_t k = 0; k < count; ++k) *to++ = weights[(o + k) * terms + t];
      }
    }
  }

  // (tile of terms, outputs, terms of the tile)
  void pack_for_terms(const float* weights) {
    const std::size_t terms = shape_.terms();
    float* to = packed_.data();
    for (std::size_t t = 0; t < terms; t += kTile) {
      const std::size_t count = tile(t, terms);
      for (std::size_t o = 0; o < shape_.outputs; ++o) {
        for (std::size_t k = 0; k < count; ++k) *to++ = weights[o * terms + t + k];
      }
    }
  }

  void plain_tile(const float* in, const float* bias, std::size_t block, std::size_t o, Range rows) {
    const std::size_t count = tile(o, shape_.outputs), plane = shape_.output_plane() * kLanes, row = shape_.out_width * kLanes;
    float* const out = output_.value + (block * shape_.outputs + o) * plane + rows.begin * row;
    kernels().convolve(shape_, offsets_.data(), in, packed_.data() + o * shape_.terms(), bias, count, rows.begin, rows.end, out, plane);
    for (std::size_t k = 0; k < count; ++k) kernels().activate(activation_, out + k * plane, rows.size() * row);
  }

  void pooled_tile(const float* in, const float* bias, std::size_t block, std::size_t o, Range rows) {
    const std::size_t count = tile(o, shape_.outputs), size = pooled_.pixels() * kLanes;
    for (std::size_t y = rows.begin; y < rows.end; ++y) {
      kernels().convolve(shape_, offsets_.data(), in, packed_.data() + o * shape_.terms(), bias, count, y * pooled_.height(),
                         (y + 1) * pooled_.height(), rows_.data(), size);
      for (std::size_t k = 0; k < count; ++k) pooled_.pool(rows_.data() + k * size, activation_, output_.value, output_row(block, o + k, y));
    }
  }

  std::size_t output_row(std::size_t block, std::size_t channel, std::size_t y) const {
    return ((block * shape_.outputs + channel) * output_.shape[1] + y) * output_.shape[2] * kLanes;
  }

  // The gradient before activation and pooling, for `count` blocks starting at `block`. Adds to the bias sums.
  const float* gradient_before_activation(std::size_t block, std::size_t count) {
    const std::size_t pixels = output_.features / shape_.outputs;
    const std::size_t from = block * output_.features * kLanes;
    float* const gradient = output_.gradient + from;
    kernels().activate_back(activation_, output_.value + from, gradient, gradient, count * output_.features * kLanes);
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t o = 0; o < shape_.outputs; ++o) {
        bias_sums_[o] += kernels().sum_plane(gradient + (k * shape_.outputs + o) * pixels * kLanes, pixels);
      }
    }
    if (!pooled_.exists()) return gradient;
    const std::size_t plane = shape_.output_plane() * kLanes, rows = pooled_.pixels() * kLanes;
    const std::size_t used = output_.shape[1] * rows;
    for (std::size_t channel = 0; channel < count * shape_.outputs; ++channel) {
      float* const to = out_gradient_.data() + channel * plane;
      for (std::size_t y = 0; y < output_.shape[1]; ++y) pooled_.unpool(output_.gradient, output_row(block, channel, y), to + y * rows);
      std::memset(to + used, 0, (plane - used) * sizeof(float));
    }
    return out_gradient_.data();
  }

  void backward_data(const float* gradient, std::size_t block) {
    float* const to = input_.gradient + block * input_.tensor->features * kLanes;
    float* const sum = padded() ? padded_gradient_.data() : to;
    std::memset(sum, 0, shape_.input_size() * kLanes * sizeof(float));
    kernels().convolve_back(shape_, offsets_.data(), gradient, packed_.data(), sum);
    if (padded()) for_each_inner_row([&](std::size_t inner, std::size_t outer, std::size_t floats) {
      std::memcpy(to + inner, sum + outer, floats * sizeof(float));
    });
  }

  template <class F> void for_each_inner_row(F f) const {
    const std::size_t height = shape_.height - 2 * padding_[0], width = shape_.width - 2 * padding_[1];
    for (std::size_t c = 0; c < shape_.channels; ++c) {
      for (std::size_t y = 0; y < height; ++y) {
        f((c * height + y) * width * kLanes,
          ((c * shape_.height + y + padding_[0]) * shape_.width + padding_[1]) * kLanes, width * kLanes);
      }
    }
  }

  // The borders of padded_input_ are initially zero and never written.
  const float* padded_block(std::size_t block, std::size_t place) {
    const float* const from = input_block(block);
    if (!padded()) return from;
    float* const to = padded_input_.data() + place * shape_.input_size() * kLanes;
    for_each_inner_row([&](std::size_t inner, std::size_t outer, std::size_t floats) {
      std::memcpy(to + outer, from + inner, floats * sizeof(float));
    });
    return to;
  }

  const float* padded_group(std::size_t block, std::size_t count) {
    if (!padded()) return padded_block(block, 0);
    for (std::size_t k = 0; k < count; ++k) padded_block(block + k, k);
    return padded_input_.data();
  }

  Device& device_;
  const LayerSpec spec_;
  Activation activation_;
  Port& input_;
  Tensor& output_;
  ConvolutionShape shape_;
  std::size_t padding_[2] = {0, 0};
  PooledRows pooled_;
  std::size_t band_ = 1;            // rows of the output that are computed together
  std::size_t group_ = 1;           // blocks per call of the weight kernel
  std::vector<double> bias_sums_;
  Array<float> out_gradient_;       // of one group, before pooling
  std::optional<WinogradFilters> filters_, transposed_filters_;
  std::optional<WinogradGradient> summed_;
  // Of the direct convolution:
  std::vector<std::uint32_t> offsets_;
  Array<float> packed_;             // weights in the kernels' layout, packed again in every pass
  Array<float> rows_;               // convolved rows of one tile, before pooling
  Array<float> padded_input_, padded_gradient_;
};

}  // namespace

std::unique_ptr<Layer> make_convolution(Device& device, const LayerSpec& spec, const Fusion& fusion, Port& input,
                                        Tensor& output) {
  return std::make_unique<Convolution>(device, spec, fusion, input, output);
}

}  // namespace mgcompare
