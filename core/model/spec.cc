#include "model/spec.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shape.h"
#include "mgcompare/error.h"
#include "mgcompare/random.h"
#include "model/initializer.h"

namespace mgcompare {
namespace {

// Random streams of initial weights, distinct from those of sample order and dropout.
constexpr std::uint64_t kWeightStream = 0x57ull << 56;

class Builder {
 public:
  Builder(const ModelConfig& model, const SampleSpec& samples, bool decay_biases)
      : model_(model), samples_(samples), decay_biases_(decay_biases) {
    spec_.name = model.name;
    spec_.sample_shape = samples.shape;
    spec_.classes = samples.classes;
    spec_.targets = samples.targets;
  }

  NetworkSpec build() {
    if (model_.layers.empty()) throw Error(fmt::format("model '{}' has no layers: list at least one", model_.name));
    if (spec_.sample_shape.empty() || values_in(spec_.sample_shape) == 0) {
      throw Error(fmt::format("model '{}': the samples are empty", model_.name));
    }
    for (const LayerConfig& config : model_.layers) add(config);
    const LayerSpec& last = spec_.layers.back();
    if (last.output_shape != samples_.output()) refuse(last, wrong_output(last));
    return std::move(spec_);
  }

 private:
  void add(const LayerConfig& config) {
    LayerSpec layer;
    layer.config = config;
    name(layer);
    find_inputs(layer);
    const LayerType type = config.type;
    if (type == LayerType::conv) {
      add_convolution(layer);
    } else if (type == LayerType::max_pool || type == LayerType::average_pool) {
      const Shape& in = image(layer);
      layer.output_shape = {in[0], windows(layer, in[1], 0), windows(layer, in[2], 1)};
      for (int axis : {0, 1}) {
        if (config.padding[axis] >= config.kernel[axis]) refuse(layer, "padding must be smaller than the window");
      }
    } else if (type == LayerType::dense) {
      add_dense(layer);
    } else if (type == LayerType::tanh || type == LayerType::relu || type == LayerType::sigmoid) {
      layer.output_shape = layer.input_shapes.front();
    } else if (type == LayerType::dropout) {
      if (!(config.rate >= 0 && config.rate < 1)) refuse(layer, fmt::format("the rate is {}: use 0 to below 1", config.rate));
      layer.output_shape = layer.input_shapes.front();
    } else if (type == LayerType::batch_norm) {
      add_batch_norm(layer);
    } else if (type == LayerType::flatten) {
      layer.output_shape = {values_in(layer.input_shapes.front())};
    } else if (type == LayerType::gru || type == LayerType::lstm) {
      add_recurrent(layer);
    } else if (type == LayerType::add) {
      add_sum(layer);
    } else if (type == LayerType::concat) {
      add_concatenation(layer);
    } else if (type == LayerType::embedding || type == LayerType::one_hot) {
      add_tokens(layer);
    } else if (type == LayerType::global_average_pool) {
      add_global_pool(layer);
    } else if (type == LayerType::layer_norm) {
      add_layer_norm(layer);
    } else if (type == LayerType::gelu) {
      layer.output_shape = layer.input_shapes.front();
    } else if (type == LayerType::lrn) {
      layer.output_shape = image(layer);
    }
    indices_[layer.config.name] = static_cast<int>(spec_.layers.size());
    spec_.layers.push_back(std::move(layer));
  }

  [[noreturn]] void refuse(const LayerSpec& layer, const std::string& text) const {
    throw NetworkError(layer.config.place, fmt::format("layer '{}': {}", layer.config.name, text));
  }

  std::string wrong_output(const LayerSpec& last) const {
    const std::string given = fmt::format("{}", fmt::join(last.output_shape, " x "));
    if (samples_.targets == 1 && spec_.classes == 1)
      return fmt::format("the last layer gives {} but the data has 1 class: all targets are the same value, so there is nothing to learn; check how "
                         "they were saved", given);
    if (samples_.targets == 1 && last.output_shape.size() == 2 && last.output_shape[0] == spec_.sample_shape.front())
      return fmt::format("the last layer gives one output at each of {} positions, {}, but the data has one target for each sample, one of {}: {}, and end "
                         "with `dense: {}`", last.output_shape[0], given, classes_text(spec_.classes), one_output_advice(), spec_.classes);
    if (samples_.targets == 1)
      return fmt::format("the last layer gives {} but the data has {}: end with `dense: {}`{}", given, classes_text(spec_.classes), spec_.classes,
                         last.output_shape == Shape{spec_.classes - 1} ? "; if the targets count from 1, subtract 1 from them" : "");
    return fmt::format("the last layer gives {} but the data needs {} x {}, {} at each of {} positions: end with "
                       "`dense: {{units: {}, per_position: true}}` after layers that keep the positions (gru and lstm with "
                       "return_sequences: true){}", given, spec_.targets, spec_.classes, classes_text(spec_.classes), spec_.targets, spec_.classes,
                       last.output_shape == Shape{spec_.targets} && spec_.classes == 2 ? "; if the targets are one-hot, save y.argmax(axis=1)" : "");
  }

  // What to change for one output in place of one at each position.
  std::string one_output_advice() const {
    for (auto layer = spec_.layers.rbegin(); layer != spec_.layers.rend(); ++layer)
      if (layer->config.return_sequences) return fmt::format("leave out `return_sequences` of '{}' and `per_position` of layers behind it", layer->config.name);
    return "leave out `per_position`, or add global_average_pool";
  }

  void name(LayerSpec& layer) {
    std::string& name = layer.config.name;
    const int number = ++numbers_[layer.config.type];
    if (name.empty()) name = fmt::format("{}{}", to_string(layer.config.type), number);
    if (name == "input") refuse(layer, "'input' is the sample itself: choose another name");
    if (indices_.contains(name)) refuse(layer, "another layer has this name: choose another");
  }

  void find_inputs(LayerSpec& layer) {
    if (layer.config.inputs.empty()) layer.inputs = {static_cast<int>(spec_.layers.size()) - 1};
    for (const std::string& name : layer.config.inputs) {
      const auto found = indices_.find(name);
      if (name != "input" && found == indices_.end()) refuse(layer, fmt::format("no layer before it is called '{}'", name));
      layer.inputs.push_back(name == "input" ? -1 : found->second);
    }
    const bool joins = layer.config.type == LayerType::add || layer.config.type == LayerType::concat;
    if (joins && layer.inputs.size() < 2) refuse(layer, "give two inputs or more");
    if (!joins && layer.inputs.size() != 1) refuse(layer, "takes one input: join several with add or concat");
    for (int input : layer.inputs) {
      layer.input_shapes.push_back(input < 0 ? spec_.sample_shape : spec_.layers[static_cast<std::size_t>(input)].output_shape);
    }
  }

  const Shape& image(const LayerSpec& layer) const {
    const Shape& shape = layer.input_shapes.front();
    if (shape.size() != 3) {
      const bool may_be_gray = shape.size() == 2 && layer.inputs.front() < 0;
      refuse(layer, fmt::format("needs channels x height x width, its input is {}{}", fmt::join(shape, " x "),
                                may_be_gray ? "; save images of one channel with an axis of channels, such as x[:, None]" : ""));
    }
    return shape;
  }

  // Number of window positions along one axis, rounded down.
  std::size_t windows(const LayerSpec& layer, std::size_t size, int axis) const {
    const LayerConfig& config = layer.config;
    if (config.kernel[axis] == 0 || config.stride[axis] == 0) refuse(layer, "kernel and stride must be at least 1");
    const std::size_t padded = size + 2 * config.padding[axis];
    if (padded < config.kernel[axis]) {
      const bool is_padded = config.padding[0] + config.padding[1] > 0;
      refuse(layer, fmt::format("a window of {} x {} does not fit into its input, which is {}{}", config.kernel[0], config.kernel[1],
                                fmt::join(layer.input_shapes.front(), " x "),
                                is_padded ? fmt::format(", padded by {} x {}", config.padding[0], config.padding[1]) : ""));
    }
    return (padded - config.kernel[axis]) / config.stride[axis] + 1;
  }

  void add_convolution(LayerSpec& layer) {
    const LayerConfig& config = layer.config;
    const Shape& in = image(layer);
    if (config.channels == 0) refuse(layer, "channels must be at least 1");
    layer.output_shape = {config.channels, windows(layer, in[1], 0), windows(layer, in[2], 1)};
    layer.weights = add_part(layer, "weight", {config.channels, in[0], config.kernel[0], config.kernel[1]}, true);
    layer.bias = config.bias ? add_part(layer, "bias", {config.channels}, decay_biases_) : empty_range();
  }

  void add_dense(LayerSpec& layer) {
    const LayerConfig& config = layer.config;
    if (config.channels == 0) refuse(layer, "units must be at least 1");
    const Shape& in = layer.input_shapes.front();
    if (config.per_position && in.size() != 2)
      refuse(layer, fmt::format("needs time x features for `per_position`, its input is {}", fmt::join(in, " x ")));
    layer.output_shape = config.per_position ? Shape{in[0], config.channels} : Shape{config.channels};
    layer.weights = add_part(layer, "weight", {config.channels, config.per_position ? in[1] : values_in(in)}, true);
    layer.bias = config.bias ? add_part(layer, "bias", {config.channels}, decay_biases_) : empty_range();
  }

  void add_batch_norm(LayerSpec& layer) {
    const Shape& in = layer.input_shapes.front();
    layer.output_shape = in;
    layer.weights = add_part(layer, "gamma", {in[0]}, decay_biases_);
    layer.bias = add_part(layer, "beta", {in[0]}, decay_biases_);
    layer.buffers = {spec_.buffers, spec_.buffers + 2 * in[0]};
    spec_.buffers = layer.buffers.end;
  }

  void add_tokens(LayerSpec& layer) {
    LayerConfig& config = layer.config;
    const Shape& in = layer.input_shapes.front();
    if (layer.inputs.front() >= 0) refuse(layer, "reads the tokens of the sample: give it `inputs: input`");
    if (in.size() != 1)
      refuse(layer, fmt::format("needs a sequence of tokens (one axis), but the samples are {}", fmt::join(in, " x ")));
    if (samples_.element == ElementType::float32)
      refuse(layer, "reads tokens, which are integers, and the samples are float32: save them as integers, such as x.astype('int32')");
    if (config.tokens == 0) config.tokens = samples_.tokens;
    if (config.tokens == 0 && samples_.smallest.place.empty())
      refuse(layer, "the samples are not tokens, or the data does not say of how many kinds: write `tokens: N`");
    if (const FoundInteger& least = samples_.smallest; !least.place.empty() && least.value < 0)
      refuse(layer, fmt::format("tokens are integers from 0 on, but {} has the value {}: number them from 0", least.place, least.value));
    if (samples_.tokens > config.tokens)
      refuse(layer, fmt::format("has {} tokens, but the data has {}{}: write `tokens: {}`", config.tokens, samples_.tokens,
                                found_largest(), samples_.tokens));
    const bool embeds = config.type == LayerType::embedding;
    if (embeds && config.channels == 0) refuse(layer, "units must be at least 1");
    layer.output_shape = {in[0], embeds ? config.channels : config.tokens};
    if (!embeds) return;
    layer.weights = add_part(layer, "weight", {config.tokens, config.channels}, true);
    layer.bias = empty_range();
  }

  // Where the largest token is; empty if that is not known.
  std::string found_largest() const {
    const FoundInteger& largest = samples_.largest;
    // With `data.classes` there may be more tokens than occur.
    const bool decides = !largest.place.empty() && static_cast<std::size_t>(largest.value) + 1 == samples_.tokens;
    return !decides ? "" : fmt::format(", counted from 0 (the largest integer is {}, in {})", largest.value, largest.place);
  }

  void add_global_pool(LayerSpec& layer) {
    const Shape& in = layer.input_shapes.front();
    if (in.size() != 2 && in.size() != 3) {
      refuse(layer, fmt::format("needs channels x height x width or time x features, its input is {}", fmt::join(in, " x ")));
    }
    layer.output_shape = {in.size() == 3 ? in[0] : in[1]};
  }

  void add_layer_norm(LayerSpec& layer) {
    const Shape& in = layer.input_shapes.front();
    if (in.size() > 3)
      refuse(layer, fmt::format("needs at most three axes (channels x height x width), its input is {}", fmt::join(in, " x ")));
    layer.output_shape = in;
    const std::size_t scales = in.size() == 3 ? in.front() : in.back();
    layer.weights = add_part(layer, "gamma", {scales}, decay_biases_);
    layer.bias = add_part(layer, "beta", {scales}, decay_biases_);
  }

  void add_recurrent(LayerSpec& layer) {
    const Shape& in = layer.input_shapes.front();
    if (in.size() != 2) refuse(layer, fmt::format("needs time x features, its input is {} of samples that are {}: {}", fmt::join(in, " x "),
                                               fmt::join(spec_.sample_shape, " x "), sequence_advice(layer)));
    const std::size_t units = layer.config.channels, rows = gates_of(layer.config.type) * units;
    if (units == 0) refuse(layer, "units must be at least 1");
    layer.output_shape = layer.config.return_sequences ? Shape{in[0], units} : Shape{units};
    layer.weights = add_part(layer, "weight", {rows, in[1]}, true);
    layer.recurrent = add_part(layer, "recurrent", {rows, units}, true);
    layer.bias = add_part(layer, "bias", {rows}, decay_biases_);
    layer.recurrent_bias = add_part(layer, "recurrent_bias", {rows}, decay_biases_);
  }

  // What gives a recurrent layer a sequence.
  std::string sequence_advice(const LayerSpec& layer) const {
    // The layers between do not change the form.
    for (int input = layer.inputs.front(); input >= 0; input = spec_.layers[static_cast<std::size_t>(input)].inputs.front()) {
      const LayerSpec& before = spec_.layers[static_cast<std::size_t>(input)];
      if (gates_of(before.config.type) > 0 && !before.config.return_sequences)
        return fmt::format("'{}' gives only its last state; write `{}: {{units: {}, return_sequences: true}}` there", before.config.name,
                           to_string(before.config.type), before.config.channels);
    }
    switch (spec_.sample_shape.size()) {
      case 1: return "begin with embedding or one_hot if they are tokens, otherwise save them as time x features";
      case 2: return "a layer before it joins the positions";
      default: return "these are images (channels x height x width), not sequences; save them as time x features, or use conv and dense layers";
    }
  }

  void add_sum(LayerSpec& layer) {
    layer.output_shape = layer.input_shapes.front();
    for (const Shape& shape : layer.input_shapes) {
      if (shape != layer.output_shape) {
        refuse(layer, fmt::format("adds {} and {}: the shapes must be equal", fmt::join(layer.output_shape, " x "),
                                  fmt::join(shape, " x ")));
      }
    }
  }

  void add_concatenation(LayerSpec& layer) {
    layer.output_shape = layer.input_shapes.front();
    layer.output_shape[0] = 0;
    for (const Shape& shape : layer.input_shapes) {
      layer.output_shape[0] += shape[0];
      if (!std::equal(shape.begin() + 1, shape.end(), layer.output_shape.begin() + 1, layer.output_shape.end())) {
        refuse(layer, fmt::format("joins {} and {}: all but the first axis must be equal",
                                  fmt::join(layer.input_shapes.front(), " x "), fmt::join(shape, " x ")));
      }
    }
  }

  Range empty_range() const { return {spec_.parameters, spec_.parameters}; }

  Range add_part(const LayerSpec& layer, const char* what, const Shape& shape, bool decays) {
    const Range range{spec_.parameters, spec_.parameters + values_in(shape)};
    spec_.parts.push_back({layer.config.name + "." + what, layer.config.name, shape, range, decays, layer.config.weight_decay});
    spec_.parameters = range.end;
    return range;
  }

  const ModelConfig& model_;
  const SampleSpec& samples_;
  bool decay_biases_;
  NetworkSpec spec_;
  std::map<std::string, int> indices_;
  std::map<LayerType, int> numbers_;
};

}  // namespace

NetworkSpec make_spec(const ModelConfig& model, const SampleSpec& samples, bool decay_biases) {
  return Builder(model, samples, decay_biases).build();
}

SampleSpec as_read(SampleSpec samples, const NetworkSpec& network) {
  samples.tokens = 0;
  for (const LayerSpec& layer : network.layers) {
    const bool reads = layer.config.type == LayerType::embedding || layer.config.type == LayerType::one_hot;
    if (reads) samples.tokens = std::max(samples.tokens, layer.config.tokens);
  }
  return samples;
}

std::size_t gates_of(LayerType type) { return type == LayerType::gru ? 3 : type == LayerType::lstm ? 4 : 0; }

std::vector<float> initial_weights(const NetworkSpec& spec, std::uint64_t seed) {
  std::vector<float> weights(spec.parameters, 0.0f);
  for (const LayerSpec& layer : spec.layers) {
    for (std::size_t p = 0; p < spec.parts.size(); ++p) {
      const Part& part = spec.parts[p];
      if (part.layer != layer.config.name) continue;
      const Vec tensor{weights.data() + part.range.begin, part.range.size()};
      const Random random(seed, kWeightStream | p);
      if (part.range.begin == layer.recurrent.begin && layer.recurrent.size() > 0)
        initialize_orthogonal(tensor, part.shape[0], part.shape[1], random);
      if (part.range.begin == layer.bias.begin && layer.config.type == LayerType::lstm)
        std::fill(tensor.begin() + tensor.size() / 4, tensor.begin() + tensor.size() / 2, 1.0f);  // the forget gate's
      if (part.range.begin != layer.weights.begin) continue;
      if (layer.config.type == LayerType::batch_norm || layer.config.type == LayerType::layer_norm) {
        std::fill(tensor.begin(), tensor.end(), 1.0f);
        continue;
      }
      if (layer.config.type == LayerType::embedding) {  // as a dense layer of one-hot inputs
        initialize(tensor, layer.config.weights, part.shape[0], part.shape[1], Random(seed, kWeightStream | p));
        continue;
      }
      const std::size_t fan_in = part.range.size() / part.shape[0];
      const std::size_t kernel = part.shape.size() == 4 ? part.shape[2] * part.shape[3] : 1;
      initialize(tensor, layer.config.weights, fan_in, part.shape[0] * kernel, random);
    }
  }
  return weights;
}

std::vector<float> initial_buffers(const NetworkSpec& spec) {
  std::vector<float> buffers(spec.buffers, 0.0f);
  for (const LayerSpec& layer : spec.layers) {
    std::fill(buffers.begin() + static_cast<std::ptrdiff_t>((layer.buffers.begin + layer.buffers.end) / 2),
              buffers.begin() + static_cast<std::ptrdiff_t>(layer.buffers.end), 1.0f);
  }
  return buffers;
}

}  // namespace mgcompare
