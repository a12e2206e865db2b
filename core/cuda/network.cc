#include "cuda/network.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>
#include <string>

#include "cuda/activation.h"
#include "cuda/batch_norm.h"
#include "cuda/conversion.h"
#include "cuda/convolution.h"
#include "cuda/dense.h"
#include "cuda/dropout.h"
#include "cuda/feed.h"
#include "cuda/fusion.h"
#include "cuda/gelu.h"
#include "cuda/global_pooling.h"
#include "cuda/layer_norm.h"
#include "cuda/loss.h"
#include "cuda/merge.h"
#include "cuda/pooling.h"
#include "cuda/recurrent.h"
#include "cuda/response_norm.h"
#include "cuda/stem_convolution.h"
#include "cuda/tile_convolution.h"
#include "cuda/tiled_pooling.h"
#include "cuda/tokens.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

struct Node {
  std::unique_ptr<Layer> layer;
  std::vector<Port*> inputs;
  Tensor* output = nullptr;
  Range parameters;
};

// Offset of the flat vectors in their allocations, in floats, that makes most of the weights of matrix products 16-byte
// aligned, for which cuBLASLt has faster kernels.
std::size_t best_shift(const NetworkSpec& spec) {
  std::size_t best = 0, most_aligned = 0;
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::size_t aligned = 0;
    for (const Part& part : spec.parts)
      if (part.shape.size() > 1 && (part.range.begin + shift) % 4 == 0) aligned += part.range.size();
    if (aligned > most_aligned) {
      most_aligned = aligned;
      best = shift;
    }
  }
  return best;
}

std::size_t features_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

// The first axis of images and sequences.
std::size_t channels_of(const Shape& shape) { return shape.size() > 1 ? shape[0] : 1; }

bool is_image(const Shape& shape) { return shape.size() == 3; }

// Whether a layer computes in float32 only, whatever numerics.precision is.
bool needs_float32(LayerType type) {
  return type == LayerType::layer_norm || type == LayerType::lrn || type == LayerType::gru || type == LayerType::lstm ||
         type == LayerType::embedding || type == LayerType::one_hot;
}

// Whether a layer computes each value from those at the same place, in any order of storage.
bool is_elementwise(LayerType type) {
  return activation_of(type) != Activation::none || type == LayerType::gelu || type == LayerType::dropout || type == LayerType::add;
}

class CudaNetwork : public Network {
 public:
  CudaNetwork(CudaDevice& device, const NetworkSpec& spec, const Numerics& numerics)
      : device_(device), spec_(spec), fusions_(spec_, numerics), numerics_(numerics),
        factors_(numerics.precision == Precision::bf16 ? Element::bf16 : Element::fp32),
        vectors_{best_shift(spec), best_shift(spec) + spec.parameters}, weights_(device, vectors_.end),
        gradients_(device, vectors_.end), buffers_(device, spec.buffers),
        tally_(device, 1), host_tally_(device, 1, true) {
    const std::vector<float> buffers = initial_buffers(spec);
    device.copy_to_device(buffers_.data(), buffers.data(), buffers.size() * sizeof(float));
    device.synchronize();
    device.set_tally(tally_.data());
    for (const auto& blas : {&device.handles().blas, &device.handles().branch_blas}) (*blas)->set_measuring(!numerics.deterministic);
    build();
  }

  Vec weights() override { return weights_.span().slice(vectors_); }
  Vec gradients() override { return gradients_.span().slice(vectors_); }
  Vec buffers() override { return buffers_.span(); }
  std::size_t classes() const override { return spec_.classes; }
  std::size_t outputs() const override { return spec_.targets * spec_.classes; }
  void reserve(std::size_t samples) override;
  Vec forward(Feed& feed, std::size_t first, std::size_t count, const Pass& pass, ConstVec weights) override;
  void loss(Feed& feed, std::size_t first, std::size_t count, ConstVec logits, Vec dlogits, float scale) override;
  void backward(ConstVec dlogits, const Ready& ready, float share) override;
  Tally take_tally() override;
  void synchronize_batch_norm(std::function<void(Vec)> all_reduce) override {
    for (Node& node : nodes_) node.layer->synchronize(all_reduce);
  }

 private:
  void build();
  std::size_t add_layer(std::size_t index);
  Format input_format(std::size_t index, const Fusion& fusion) const;
  Format output_format(std::size_t index, const Fusion& fusion, const Tensor& input) const;
  bool has_own_kernels(std::size_t index, const Fusion& fusion) const;
  std::unique_ptr<Layer> make_layer(std::size_t index, const Fusion& fusion, const std::vector<Port*>& ports,
                                    Tensor& output);
  Tensor& in_format(Tensor& tensor, const Format& format);
  Port& new_port(Tensor& tensor) { return ports_.emplace_back(Port{&tensor}); }
  bool has_one_reader(const Tensor& tensor) const;
  bool shares_gradients(const Node& node) const;
  void add_gradients(Tensor& tensor) const;

  CudaDevice& device_;
  const NetworkSpec spec_;
  const Fusions fusions_;
  const Numerics numerics_;
  const Element factors_;           // of convolutions and of dense layers
  Range vectors_;                   // position of the vectors in weights_ and gradients_
  Array<float> weights_;
  WindowMemory gradients_;
  Array<float> buffers_;
  Array<DeviceTally> tally_, host_tally_;

  // Layers hold references to tensors and ports, which stay valid in deques.
  std::deque<Tensor> tensors_;
  std::deque<Port> ports_;
  std::vector<Node> nodes_;
  std::vector<Tensor*> outputs_;    // [0] is the sample, [i + 1] the output of layer i

  std::vector<Array<std::uint8_t>> memory_;
  void* logit_gradients_ = nullptr;
  std::size_t capacity_ = 0;
  Work work_;
};

void CudaNetwork::build() {
  outputs_.assign(spec_.layers.size() + 1, nullptr);
  const Shape& sample = spec_.sample_shape;
  outputs_[0] = &tensors_.emplace_back(
      Tensor{.features = features_of(sample), .channels = channels_of(sample), .needs_gradient = false});
  for (std::size_t index = 0; index < spec_.layers.size();) index += add_layer(index);
  outputs_.back() = &in_format(*outputs_.back(), {});  // of the loss
}

// The tensor in another format.
Tensor& CudaNetwork::in_format(Tensor& tensor, const Format& format) {
  const bool same_order = tensor.format.channels_last == format.channels_last || tensor.channels == 1 || tensor.pixels() == 1;
  if (same_order && tensor.format.element == format.element) return tensor;
  Tensor& changed = tensors_.emplace_back(tensor);
  changed.format = format;
  Port& port = new_port(tensor);
  nodes_.push_back({make_conversion(device_, port, changed), {&port}, &changed, {}});
  return changed;
}

// Whether a convolution has kernels for its special shape, which read and write planar images.
bool CudaNetwork::has_own_kernels(std::size_t index, const Fusion& fusion) const {
  const LayerSpec& layer = spec_.layers[index];
  const Tensor& input = *outputs_[static_cast<std::size_t>(layer.inputs.front() + 1)];
  return is_stem(layer, fusion, input) || is_tile(device_, layer, fusion, numerics_.precision);
}

Format CudaNetwork::input_format(std::size_t index, const Fusion& fusion) const {
  const LayerSpec& layer = spec_.layers[index];
  const LayerType type = layer.config.type;
  const Tensor& input = *outputs_[static_cast<std::size_t>(layer.inputs.front() + 1)];
  if (type == LayerType::conv)
    return has_own_kernels(index, fusion) || reads_samples(layer, input) ? Format{} : Format{factors_, true};
  if (type == LayerType::dense) return {factors_, layer.output_shape.size() == 1 && input.format.channels_last};
  if (is_elementwise(type)) return input.format;
  const bool channels_last = type == LayerType::batch_norm ? layer.input_shapes.front().size() > 1
                                                           : is_image(layer.input_shapes.front()) && type != LayerType::layer_norm;
  return {needs_float32(type) ? Element::fp32 : input.format.element, channels_last};
}

// `input` is already in the input format.
Format CudaNetwork::output_format(std::size_t index, const Fusion& fusion, const Tensor& input) const {
  const LayerSpec& layer = spec_.layers[index];
  const LayerType type = layer.config.type;
  if (type == LayerType::dense)
    return {index + 1 == spec_.layers.size() ? Element::fp32 : dense_output(layer, factors_), false};
  if (type == LayerType::conv) return has_own_kernels(index, fusion) ? Format{} : Format{factors_, true};
  if (is_elementwise(type)) return input.format;
  return {input.format.element, input.format.channels_last && layer.output_shape.size() > 1};
}

// Adds layer `index` and the layers fused into it. Returns the number of layers of the specification that it covers.
std::size_t CudaNetwork::add_layer(std::size_t index) {
  const LayerSpec& layer = spec_.layers[index];
  const LayerType type = layer.config.type;
  const auto input = [&](int number) -> Tensor& { return *outputs_[static_cast<std::size_t>(number + 1)]; };
  if (type == LayerType::flatten || (type == LayerType::dropout && !numerics_.dropout)) {
    outputs_[index + 1] = &input(layer.inputs.front());
    return 1;
  }

  const Fusion fusion = fusions_.of(index);
  const std::size_t used = fusion.layers;
  const Format format = input_format(index, fusion);
  std::vector<Port*> ports;
  bool needs_gradient = layer.parameters().size() > 0;
  for (const int number : layer.inputs) {
    ports.push_back(&new_port(in_format(input(number), format)));
    needs_gradient = needs_gradient || ports.back()->tensor->needs_gradient;
  }
  const Tensor& first = *ports.front()->tensor;
  const Shape& shape = spec_.layers[index + used - 1].output_shape;
  Tensor& output = tensors_.emplace_back(Tensor{.features = features_of(shape),
                                                .channels = is_elementwise(type) ? first.channels : channels_of(shape),
                                                .needs_gradient = needs_gradient,
                                                .format = output_format(index, fusion, first)});
  if (fusion.feeds_normalization) output.derivative = fusion.activation;
  nodes_.push_back({make_layer(index, fusion, ports, output), ports, &output, layer.parameters()});
  outputs_[index + used] = &output;
  return used;
}

std::unique_ptr<Layer> CudaNetwork::make_layer(std::size_t index, const Fusion& fusion, const std::vector<Port*>& ports,
                                               Tensor& output) {
  LayerSpec layer = spec_.layers[index];
  const LayerType type = layer.config.type;
  Port& port = *ports.front();
  if (fusion.folds_bias()) layer.bias = {};
  if (type == LayerType::conv) {
    if (is_stem(layer, fusion, *port.tensor))
      return make_stem_convolution(device_, layer, fusion, numerics_.precision, port, output);
    if (is_tile(device_, layer, fusion, numerics_.precision)) return make_tile_convolution(device_, layer, fusion, port, output);
    return make_convolution(device_, layer, fusion, numerics_, port, output);
  }
  if (type == LayerType::dense) return make_dense(device_, layer, fusion.activation, numerics_.precision, port, output);
  if (type == LayerType::max_pool || type == LayerType::average_pool)
    return make_pooling(device_, layer, type == LayerType::average_pool || numerics_.average_pooling, port, output);
  if (type == LayerType::dropout) return make_dropout(device_, layer, index, port, output);
  if (type == LayerType::batch_norm) return make_batch_norm(device_, layer, fusions_.folded_bias(index), fusion.activation, port, output);
  if (type == LayerType::gru || type == LayerType::lstm)
    return make_recurrent(device_, layer, numerics_.precision, port, output);
  if (type == LayerType::add) return make_sum(device_, fusion.activation, ports, output);
  if (type == LayerType::concat) return make_concatenation(device_, ports, output);
  if (type == LayerType::embedding) return make_embedding(device_, layer, port, output);
  if (type == LayerType::one_hot) return make_one_hot(device_, layer, port, output);
  if (type == LayerType::global_average_pool) return make_global_pooling(device_, port, output);
  if (type == LayerType::layer_norm) return make_layer_norm(device_, layer, port, output);
  if (type == LayerType::gelu) return make_gelu(device_, port, output);
  if (type == LayerType::lrn) return make_response_norm(device_, layer, port, output);
  return make_activation(device_, fusion.activation, port, output);
}

void CudaNetwork::reserve(std::size_t samples) {
  if (samples <= capacity_) return;
  memory_.clear();
  const auto allocate = [&](const Tensor& tensor) { return memory_.emplace_back(device_, tensor.bytes(samples)).data(); };
  for (Tensor& tensor : tensors_) {
    tensor.value = allocate(tensor);
    tensor.gradient = nullptr;
  }
  // Backwards, so that the gradient of a layer's output exists before those of its inputs, which may share it.
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (!node->output->needs_gradient) continue;
    if (node->output->gradient == nullptr) node->output->gradient = allocate(*node->output);
    const bool shares = shares_gradients(*node);
    void* shared = shares && node->layer->input_gradients() == InputGradients::of_output ? node->output->gradient : nullptr;
    for (Port* port : node->inputs) {
      if (!port->tensor->needs_gradient) continue;
      port->gradient = shared != nullptr ? shared : allocate(*port->tensor);
      if (shares) shared = port->gradient;
      if (has_one_reader(*port->tensor)) port->tensor->gradient = port->gradient;
    }
  }
  logit_gradients_ = outputs_.back()->gradient;
  for (Node& node : nodes_) node.layer->reserve(samples);
  capacity_ = samples;
}

bool CudaNetwork::has_one_reader(const Tensor& tensor) const {
  return std::count_if(ports_.begin(), ports_.end(), [&](const Port& port) { return port.tensor == &tensor; }) == 1;
}

// Whether the inputs of a node can have their gradient in the same memory: no layer before it may write there. The gradient of
// the logits has no fixed place.
bool CudaNetwork::shares_gradients(const Node& node) const {
  if (node.layer->input_gradients() == InputGradients::separate || node.output == outputs_.back()) return false;
  return std::none_of(nodes_.begin(), nodes_.end(), [&](const Node& before) {
    return before.layer->overwrites_output_gradient() && has_one_reader(*before.output) &&
           std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Port* port) { return port->tensor == before.output; });
  });
}

Vec CudaNetwork::forward(Feed& feed, std::size_t first, std::size_t count, const Pass& pass, ConstVec weights) {
  reserve(std::max<std::size_t>(count, 1));
  auto& source = static_cast<CudaFeed&>(feed);
  work_ = {count, pass.training, pass.seed, pass.epoch, source.order(first, count), device_.captured_step(),
           weights.empty() ? this->weights().data() : weights.data(), gradients().data(), buffers_.data()};
  for (Node& node : nodes_) node.layer->prepare(work_);
  DeviceTimeline* const timeline = device_.timeline();
  if (timeline != nullptr) timeline->mark(Phase::input);
  source.gather(first, count, pass, outputs_.front()->values());
  if (timeline != nullptr) timeline->mark(Phase::compute);
  for (Node& node : nodes_) node.layer->forward(work_);
  return {outputs_.back()->values(), count * spec_.targets * spec_.classes};
}

void CudaNetwork::loss(Feed& feed, std::size_t first, std::size_t count, ConstVec logits, Vec dlogits, float scale) {
  const auto& source = static_cast<const CudaFeed&>(feed);
  if (source.largest_target() >= spec_.classes) {
    throw Error("a sample has target " + std::to_string(source.largest_target()) + " but the network has " +
                std::to_string(spec_.classes) + " classes: give it more outputs");
  }
  softmax_cross_entropy(device_, logits.data(), {source.order(first, count), source.targets(), count, spec_.targets}, spec_.classes,
                        dlogits.empty() ? nullptr : dlogits.data(), scale / static_cast<float>(spec_.targets), tally_.data());
}

void CudaNetwork::add_gradients(Tensor& tensor) const {
  const void* sum = nullptr;
  for (const Port& port : ports_) {
    if (port.tensor != &tensor || port.gradient == tensor.gradient) continue;
    if (sum != nullptr) add_vectors(device_, tensor.format.element, tensor.gradient, sum, port.gradient, tensor.size(work_.samples));
    sum = sum == nullptr ? port.gradient : tensor.gradient;
  }
}

void CudaNetwork::backward(ConstVec dlogits, const Ready& ready, float share) {
  if (dlogits.size() != work_.samples * spec_.targets * spec_.classes) {
    throw Error("backward() got " + std::to_string(dlogits.size()) + " values, but the last forward() had " +
                std::to_string(work_.samples * spec_.targets) + " rows of " + std::to_string(spec_.classes) +
                " classes: call backward() after forward() of the same batch");
  }
  work_.share = share;
  Tensor& logits = *outputs_.back();
  logits.gradient = logit_gradients_;
  if (logits.needs_gradient && nodes_.back().layer->overwrites_output_gradient()) {
    device_.copy(logits.gradient, dlogits.data(), dlogits.bytes());
  } else {
    logits.gradient = const_cast<float*>(dlogits.data());  // only read
  }
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (!node->output->needs_gradient) continue;
    if (node->output != &logits) add_gradients(*node->output);
    // The exchanges inside a layer (batch normalisation) must not overlap: the layer uses their results.
    device_.allow_overlap(false);
    node->layer->backward(work_);
    if (node->parameters.size() == 0 || !ready) continue;
    // After the first layer nothing is left to compute, and an exchange starts sooner on the compute stream. It must follow
    // the exchanges and updates that `ready` has queued before.
    const bool more = node->parameters.begin > 0;
    if (!more) {
      device_.join_branch();
      device_.join_exchanges();
    }
    device_.allow_overlap(more);
    ready(gradients().slice(node->parameters));
  }
  device_.allow_overlap(false);
  device_.join_branch();
  device_.join_exchanges();
}

Tally CudaNetwork::take_tally() {
  device_.copy_to_host(host_tally_.data(), tally_.data(), sizeof(DeviceTally));
  device_.zero(tally_.data(), sizeof(DeviceTally));
  device_.synchronize();
  return {host_tally_[0].loss, host_tally_[0].correct, host_tally_[0].predictions};
}

}  // namespace

std::unique_ptr<Network> make_network(CudaDevice& device, const NetworkSpec& spec, const Numerics& numerics) {
  return std::make_unique<CudaNetwork>(device, spec, numerics);
}

}  // namespace mgcompare::cuda
