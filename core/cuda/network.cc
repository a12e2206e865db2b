#include "cuda/network.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "base/shape.h"
#include "cuda/conversion.h"
#include "cuda/feed.h"
#include "cuda/layer_choice.h"
#include "cuda/loss.h"
#include "cuda/merge.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

struct Node {
  std::unique_ptr<Layer> layer;
  std::vector<Port*> inputs;
  Tensor* output = nullptr;
  Range parameters;
  bool converts = false;
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

// The first axis of images and sequences.
std::size_t channels_of(const Shape& shape) { return shape.size() > 1 ? shape[0] : 1; }

class CudaNetwork : public Network {
 public:
  CudaNetwork(CudaDevice& device, const NetworkSpec& spec, const Numerics& numerics)
      : device_(device), spec_(spec), choice_(device, spec_, numerics), numerics_(numerics),
        vectors_{best_shift(spec), best_shift(spec) + spec.parameters}, weights_(device, vectors_.end),
        gradients_(device, vectors_.end), buffers_(device, spec.buffers),
        tally_(device, 1), host_tally_(device, 1, true) {
    const std::vector<float> buffers = initial_buffers(spec);
    device.copy_to_device(buffers_.data(), buffers.data(), buffers.size() * sizeof(float));
    device.synchronize();
    device.set_tally(tally_.data());
    device.set_vectors(vectors_);
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
  std::vector<Stored> stored() const override;
  std::vector<std::string> computed_without_library() const override { return choice_.computed_without_library(); }
  Tally take_tally() override;
  void synchronize_batch_norm(std::function<void(Vec)> all_reduce) override {
    for (Node& node : nodes_) node.layer->synchronize(all_reduce);
  }

 private:
  void build();
  std::size_t add_layer(std::size_t index);
  Range parameters_of(std::size_t index, std::size_t layers) const;
  Tensor& in_format(Tensor& tensor, const Format& format);
  void gather_as_read();
  Port& new_port(Tensor& tensor) { return ports_.emplace_back(Port{&tensor}); }
  std::ptrdiff_t readers(const Tensor& tensor) const;
  bool shares_gradient(const Node& node, std::size_t input) const;
  void add_gradients(Tensor& tensor) const;

  CudaDevice& device_;
  const NetworkSpec spec_;
  const LayerChoice choice_;
  const Numerics numerics_;
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
  std::map<Element, std::uint64_t> stored_;  // bytes of it
  void* logit_gradients_ = nullptr;
  std::size_t capacity_ = 0;
  Work work_;
};

void CudaNetwork::build() {
  outputs_.assign(spec_.layers.size() + 1, nullptr);
  const Shape& sample = spec_.sample_shape;
  outputs_[0] = &tensors_.emplace_back(
      Tensor{.features = values_in(sample), .channels = channels_of(sample), .needs_gradient = false});
  for (std::size_t index = 0; index < spec_.layers.size();) index += add_layer(index);
  outputs_.back() = &in_format(*outputs_.back(), {});  // of the loss
  gather_as_read();
  for (const Node& node : nodes_) {
    const std::ptrdiff_t count = readers(*node.output);
    if (count > 1) node.output->derivative = node.layer->derivative();
    if (count != 1) continue;
    node.output->offered = node.layer->offers();
    node.output->wants_sums = node.layer->wants_sums();
  }
}

// The tensor in another format.
Tensor& CudaNetwork::in_format(Tensor& tensor, const Format& format) {
  const bool same_order = tensor.format.channels_last == format.channels_last || tensor.channels == 1 || tensor.pixels() == 1;
  if (same_order && tensor.format.element == format.element) return tensor;
  Tensor& changed = tensors_.emplace_back(tensor);
  changed.format = format;
  Port& port = new_port(tensor);
  nodes_.push_back({make_conversion(device_, port, changed), {&port}, &changed, {}, true});
  return changed;
}

// Samples that are read in another type only are gathered in it.
void CudaNetwork::gather_as_read() {
  if (nodes_.empty()) return;
  const Node& first = nodes_.front();
  if (!first.converts || first.output->reordered() || readers(*outputs_.front()) > 1) return;
  Tensor* const samples = outputs_.front();
  std::replace(outputs_.begin(), outputs_.end(), samples, first.output);  // flattening has no output of its own
  nodes_.erase(nodes_.begin());
  ports_.pop_front();
  tensors_.pop_front();
}

// The parameters of consecutive layers, which are consecutive.
Range CudaNetwork::parameters_of(std::size_t index, std::size_t layers) const {
  Range all = spec_.layers[index].parameters();
  for (std::size_t k = 1; k < layers; ++k) {
    const Range more = spec_.layers[index + k].parameters();
    if (more.size() > 0) all.end = more.end;
  }
  return all;
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

  const Fusion fusion = choice_.fusion(index, input(layer.inputs.front()));
  const std::size_t used = fusion.layers;
  const Format format = choice_.input_format(index, fusion, input(layer.inputs.front()));
  std::vector<Port*> ports;
  const Range parameters = parameters_of(index, used);
  bool needs_gradient = parameters.size() > 0;
  for (const int number : layer.inputs) {
    ports.push_back(&new_port(in_format(input(number), format)));
    needs_gradient = needs_gradient || ports.back()->tensor->needs_gradient;
  }
  const Tensor& first = *ports.front()->tensor;
  if (fusion.added) ports.push_back(&new_port(in_format(input(*fusion.added), choice_.output_format(index, fusion, first))));
  const Shape& shape = spec_.layers[index + used - 1].output_shape;
  Tensor& output = tensors_.emplace_back(Tensor{.features = values_in(shape),
                                                .channels = is_elementwise(type) ? first.channels : channels_of(shape),
                                                .needs_gradient = needs_gradient,
                                                .format = choice_.output_format(index, fusion, first)});
  nodes_.push_back({choice_.make(index, fusion, ports, output), ports, &output, parameters});
  outputs_[index + used] = &output;
  return used;
}

void CudaNetwork::reserve(std::size_t samples) {
  if (samples <= capacity_) return;
  memory_.clear();
  stored_.clear();
  const auto allocate = [&](const Tensor& tensor) {
    stored_[tensor.format.element] += tensor.bytes(samples);
    return memory_.emplace_back(device_, tensor.bytes(samples)).data();
  };
  for (Tensor& tensor : tensors_) {
    tensor.value = allocate(tensor);
    tensor.gradient = nullptr;
  }
  // Backwards, so that the gradient of a layer's output exists before those of its inputs, which may share it.
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (!node->output->needs_gradient) continue;
    if (node->output->gradient == nullptr) node->output->gradient = allocate(*node->output);
    for (std::size_t k = 0; k < node->inputs.size(); ++k) {
      Port* const port = node->inputs[k];
      if (!port->tensor->needs_gradient) continue;
      port->gradient = shares_gradient(*node, k) ? node->output->gradient : allocate(*port->tensor);
      if (readers(*port->tensor) == 1) port->tensor->gradient = port->gradient;
    }
  }
  logit_gradients_ = outputs_.back()->gradient;
  for (Node& node : nodes_) node.layer->reserve(samples);
  capacity_ = samples;
}

std::vector<Stored> CudaNetwork::stored() const {
  std::vector<Stored> all;
  for (const auto& [element, bytes] : stored_)
    all.push_back({"activations and their gradients", element == Element::bf16 ? "bf16" : "fp32", bytes});
  return all;
}

std::ptrdiff_t CudaNetwork::readers(const Tensor& tensor) const {
  return std::count_if(ports_.begin(), ports_.end(), [&](const Port& port) { return port.tensor == &tensor; });
}

// Whether the gradient of an input can be in the memory of the output's: no layer before it may write there, because other inputs may
// share it, too. The gradient of the logits has no fixed place.
bool CudaNetwork::shares_gradient(const Node& node, std::size_t input) const {
  if (!node.layer->passes_gradient(input) || node.output == outputs_.back()) return false;
  return std::none_of(nodes_.begin(), nodes_.end(), [&](const Node& before) {
    return before.layer->overwrites_output_gradient() && readers(*before.output) == 1 &&
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
  source.gather(first, count, pass, outputs_.front()->format.element, outputs_.front()->value);
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
  const std::ptrdiff_t count = readers(tensor);
  if (count < 2) return;
  const void* sum = nullptr;
  std::ptrdiff_t added = 0;
  for (const Port& port : ports_) {
    if (port.tensor != &tensor) continue;
    const Activation activation = ++added == count ? tensor.derivative : Activation::none;
    if (sum != nullptr)
      mgcompare::cuda::add_gradients(device_, tensor.format.element, tensor.gradient, sum, port.gradient, tensor.size(work_.samples), activation,
                                     tensor.value);
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
