#include "reference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "model/dropout.h"

namespace mgcompare::testing {
namespace {

std::size_t product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

// Visits the pixels of a window that lie inside the image: f(row, column, row in the window, column in the window). A template,
// because most of a finite difference is spent here.
template <class F> void for_each_pixel(const LayerSpec& layer, std::size_t y, std::size_t x, F f) {
  const LayerConfig& config = layer.config;
  const Shape& in = layer.input_shapes.front();
  for (std::size_t ky = 0; ky < config.kernel[0]; ++ky) {
    for (std::size_t kx = 0; kx < config.kernel[1]; ++kx) {
      const auto row = static_cast<long>(y * config.stride[0] + ky) - static_cast<long>(config.padding[0]);
      const auto column = static_cast<long>(x * config.stride[1] + kx) - static_cast<long>(config.padding[1]);
      if (row < 0 || column < 0 || row >= static_cast<long>(in[1]) || column >= static_cast<long>(in[2])) continue;
      f(static_cast<std::size_t>(row), static_cast<std::size_t>(column), ky, kx);
    }
  }
}

Numbers convolve(const LayerSpec& layer, const Numbers& weights, const Numbers& x, std::size_t samples) {
  const Shape &in = layer.input_shapes.front(), &out = layer.output_shape;
  const std::size_t kernel = layer.config.kernel[0] * layer.config.kernel[1];
  Numbers y(samples * product(out));
  for (std::size_t n = 0, at = 0; n < samples; ++n) {
    for (std::size_t o = 0; o < out[0]; ++o) {
      for (std::size_t row = 0; row < out[1]; ++row) {
        for (std::size_t column = 0; column < out[2]; ++column, ++at) {
          double sum = layer.bias.size() == 0 ? 0 : weights[layer.bias.begin + o];
          for (std::size_t c = 0; c < in[0]; ++c) {
            const double* const image = x.data() + (n * in[0] + c) * in[1] * in[2];
            const double* const filter = weights.data() + layer.weights.begin + (o * in[0] + c) * kernel;
            for_each_pixel(layer, row, column, [&](std::size_t r, std::size_t k, std::size_t ky, std::size_t kx) {
              sum += image[r * in[2] + k] * filter[ky * layer.config.kernel[1] + kx];
            });
          }
          y[at] = sum;
        }
      }
    }
  }
  return y;
}

Numbers pool(const LayerSpec& layer, bool average, const Numbers& x, std::size_t samples) {
  const Shape &in = layer.input_shapes.front(), &out = layer.output_shape;
  Numbers y;
  for (std::size_t plane = 0; plane < samples * in[0]; ++plane) {
    for (std::size_t row = 0; row < out[1]; ++row) {
      for (std::size_t column = 0; column < out[2]; ++column) {
        double sum = 0, largest = -std::numeric_limits<double>::infinity();
        for_each_pixel(layer, row, column, [&](std::size_t r, std::size_t k, std::size_t, std::size_t) {
          const double value = x[(plane * in[1] + r) * in[2] + k];
          sum += value;
          largest = std::max(largest, value);
        });
        y.push_back(average ? sum / static_cast<double>(layer.config.kernel[0] * layer.config.kernel[1]) : largest);
      }
    }
  }
  return y;
}

Numbers connect(const LayerSpec& layer, const Numbers& weights, const Numbers& x, std::size_t samples) {
  const std::size_t outputs = layer.output_shape.back(), inputs = layer.weights.size() / outputs;
  Numbers y;
  for (std::size_t n = 0; n < samples * product(layer.output_shape) / outputs; ++n) {
    for (std::size_t o = 0; o < outputs; ++o) {
      double sum = layer.bias.size() == 0 ? 0 : weights[layer.bias.begin + o];
      for (std::size_t i = 0; i < inputs; ++i) sum += weights[layer.weights.begin + o * inputs + i] * x[n * inputs + i];
      y.push_back(sum);
    }
  }
  return y;
}

Numbers normalize(const LayerSpec& layer, const Numbers& weights, const Numbers& buffers, const Numbers& x,
                  std::size_t samples, bool training) {
  const std::size_t channels = layer.output_shape[0], area = product(layer.output_shape) / channels;
  Numbers y(x.size());
  for (std::size_t c = 0; c < channels; ++c) {
    const auto for_each = [&](auto f) {
      for (std::size_t n = 0; n < samples; ++n) {
        for (std::size_t i = 0; i < area; ++i) f((n * channels + c) * area + i);
      }
    };
    double mean = buffers[layer.buffers.begin + c], variance = buffers[layer.buffers.begin + channels + c];
    if (training) {
      const auto count = static_cast<double>(samples * area);
      mean = variance = 0;
      for_each([&](std::size_t i) { mean += x[i] / count; });
      for_each([&](std::size_t i) { variance += (x[i] - mean) * (x[i] - mean) / count; });
    }
    const double scale = weights[layer.weights.begin + c] / std::sqrt(variance + layer.config.epsilon);
    for_each([&](std::size_t i) { y[i] = (x[i] - mean) * scale + weights[layer.bias.begin + c]; });
  }
  return y;
}

Numbers look_up(const LayerSpec& layer, const Numbers& weights, const Numbers& tokens) {
  const std::size_t units = layer.output_shape[1];
  Numbers y;
  for (const double token : tokens) {
    for (std::size_t unit = 0; unit < units; ++unit) {
      const auto row = static_cast<std::size_t>(token);
      y.push_back(layer.config.type == LayerType::one_hot ? (row == unit ? 1 : 0) : weights[layer.weights.begin + row * units + unit]);
    }
  }
  return y;
}

Numbers pool_all(const LayerSpec& layer, const Numbers& x, std::size_t samples) {
  const Shape& in = layer.input_shapes.front();
  const std::size_t channels = layer.output_shape[0], places = product(in) / channels;
  Numbers y(samples * channels);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t within = i % product(in);
    y[i / product(in) * channels + (in.size() == 3 ? within / places : within % channels)] += x[i] / static_cast<double>(places);
  }
  return y;
}

Numbers normalize_samples(const LayerSpec& layer, const Numbers& weights, const Numbers& x) {
  const Shape& shape = layer.output_shape;
  const std::size_t together = shape.size() == 3 ? product(shape) : shape.back(), scales = layer.weights.size();
  const auto count = static_cast<double>(together);
  Numbers y;
  for (std::size_t first = 0; first < x.size(); first += together) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < together; ++i) mean += x[first + i] / count;
    for (std::size_t i = 0; i < together; ++i) variance += (x[first + i] - mean) * (x[first + i] - mean) / count;
    for (std::size_t i = 0; i < together; ++i) {
      const std::size_t c = i / (together / scales);
      y.push_back((x[first + i] - mean) / std::sqrt(variance + layer.config.epsilon) * weights[layer.weights.begin + c] +
                  weights[layer.bias.begin + c]);
    }
  }
  return y;
}

Numbers normalize_responses(const LayerSpec& layer, const Numbers& x) {
  const LayerConfig& config = layer.config;
  const std::size_t channels = layer.output_shape[0], area = product(layer.output_shape) / channels;
  Numbers y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i / area % channels;
    double sum = 0;
    for (std::size_t k = 0; k < channels; ++k) {
      const double other = x[i - c * area + k * area];
      if (k <= c + config.radius && c <= k + config.radius) sum += other * other;
    }
    y.push_back(x[i] / std::pow(config.offset + config.alpha * sum, config.beta));
  }
  return y;
}

Numbers drop(const LayerSpec& layer, std::size_t index, Numbers x, const std::vector<std::uint32_t>& ids,
             const ReferencePass& pass) {
  if (!pass.training || !pass.dropout) return x;
  const std::size_t units = product(layer.output_shape);
  const DropoutMask mask(pass.seed, pass.epoch, index, units, layer.config.rate);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t unit = i % units;
    x[i] *= mask.keeps(mask.bits(ids[i / units], unit / 4).words[unit % 4]) ? 1 / (1 - layer.config.rate) : 0;
  }
  return x;
}

Numbers join(const LayerSpec& layer, const std::vector<const Numbers*>& inputs, std::size_t samples) {
  Numbers y;
  if (layer.config.type == LayerType::add) {
    y.assign(inputs.front()->size(), 0);
    for (const Numbers* input : inputs) std::transform(y.begin(), y.end(), input->begin(), y.begin(), std::plus<>());
    return y;
  }
  for (std::size_t n = 0; n < samples; ++n) {
    for (const Numbers* input : inputs) {
      const auto size = static_cast<std::ptrdiff_t>(input->size() / samples);
      const auto from = input->begin() + static_cast<std::ptrdiff_t>(n) * size;
      y.insert(y.end(), from, from + size);
    }
  }
  return y;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// A GRU with the reset gate after the recurrent product, or an LSTM.
Numbers recur(const LayerSpec& layer, const Numbers& weights, const Numbers& x, std::size_t samples) {
  const std::size_t times = layer.input_shapes.front()[0], features = layer.input_shapes.front()[1], units = layer.config.channels;
  const bool gru = layer.config.type == LayerType::gru;
  const auto products = [&](Range matrix, Range bias, const double* from, std::size_t size) {
    Numbers sums(bias.size());
    for (std::size_t row = 0; row < sums.size(); ++row) {
      sums[row] = weights[bias.begin + row];
      for (std::size_t i = 0; i < size; ++i) sums[row] += weights[matrix.begin + row * size + i] * from[i];
    }
    return sums;
  };
  Numbers y;
  for (std::size_t n = 0; n < samples; ++n) {
    Numbers state(units), memory(units);
    for (std::size_t time = 0; time < times; ++time) {
      const Numbers in = products(layer.weights, layer.bias, x.data() + (n * times + time) * features, features);
      const Numbers from = products(layer.recurrent, layer.recurrent_bias, state.data(), units);
      const auto sum = [&](std::size_t gate, std::size_t unit) { return in[gate * units + unit] + from[gate * units + unit]; };
      for (std::size_t j = 0; j < units; ++j) {
        if (gru) {
          const double reset = sigmoid(sum(0, j)), update = sigmoid(sum(1, j));
          state[j] = (1 - update) * std::tanh(in[2 * units + j] + reset * from[2 * units + j]) + update * state[j];
        } else {
          memory[j] = sigmoid(sum(1, j)) * memory[j] + sigmoid(sum(0, j)) * std::tanh(sum(2, j));
          state[j] = sigmoid(sum(3, j)) * std::tanh(memory[j]);
        }
      }
      if (layer.config.return_sequences || time + 1 == times) y.insert(y.end(), state.begin(), state.end());
    }
  }
  return y;
}

}  // namespace

Numbers reference_forward(const NetworkSpec& spec, const Numbers& weights, const Numbers& buffers, const Numbers& inputs,
                          const std::vector<std::uint32_t>& ids, const ReferencePass& pass) {
  std::vector<Numbers> outputs;
  const std::size_t samples = ids.size();
  for (std::size_t index = 0; index < spec.layers.size(); ++index) {
    const LayerSpec& layer = spec.layers[index];
    const LayerType type = layer.config.type;
    std::vector<const Numbers*> from;
    for (int input : layer.inputs) from.push_back(input < 0 ? &inputs : &outputs[static_cast<std::size_t>(input)]);
    Numbers y = *from.front();
    if (type == LayerType::conv) y = convolve(layer, weights, y, samples);
    if (type == LayerType::dense) y = connect(layer, weights, y, samples);
    if (type == LayerType::max_pool || type == LayerType::average_pool) {
      y = pool(layer, type == LayerType::average_pool || pass.average_pooling, y, samples);
    }
    if (type == LayerType::batch_norm) y = normalize(layer, weights, buffers, y, samples, pass.training);
    if (type == LayerType::gru || type == LayerType::lstm) y = recur(layer, weights, y, samples);
    if (type == LayerType::dropout) y = drop(layer, index, y, ids, pass);
    if (type == LayerType::embedding || type == LayerType::one_hot) y = look_up(layer, weights, y);
    if (type == LayerType::global_average_pool) y = pool_all(layer, y, samples);
    if (type == LayerType::layer_norm) y = normalize_samples(layer, weights, y);
    if (type == LayerType::lrn) y = normalize_responses(layer, y);
    if (type == LayerType::add || type == LayerType::concat) y = join(layer, from, samples);
    for (double& value : y) {
      if (type == LayerType::tanh) value = std::tanh(value);
      if (type == LayerType::relu) value = std::max(value, 0.0);
      if (type == LayerType::gelu) value *= (1 + std::erf(value / std::sqrt(2.0))) / 2;
      if (type == LayerType::sigmoid) value = 1 / (1 + std::exp(-value));
    }
    outputs.push_back(std::move(y));
  }
  return outputs.back();
}

double reference_loss(const Numbers& logits, const std::vector<std::uint32_t>& labels) {
  const std::size_t classes = logits.size() / labels.size();
  double loss = 0;
  for (std::size_t n = 0; n < labels.size(); ++n) {
    const double* const row = logits.data() + n * classes;
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(row[c]);
    loss += std::log(sum) - row[labels[n]];
  }
  return loss;
}

}  // namespace mgcompare::testing
