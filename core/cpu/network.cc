#include "cpu/network.h"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include <fmt/format.h>

#include "cpu/activation.h"
#include "cpu/batch_norm.h"
#include "cpu/convolution.h"
#include "cpu/dense.h"
#include "cpu/dropout.h"
#include "cpu/feed.h"
#include "cpu/flatten.h"
#include "cpu/gelu.h"
#include "cpu/global_pooling.h"
#include "cpu/gru.h"
#include "cpu/layer_norm.h"
#include "cpu/loss.h"
#include "cpu/lstm.h"
#include "cpu/merge.h"
#include "cpu/pooled_rows.h"
#include "cpu/pooling.h"
#include "cpu/response_norm.h"
#include "cpu/tokens.h"
#include "mgcompare/error.h"
#include "model/readers.h"

namespace mgcompare {
namespace {

struct Node {
  std::unique_ptr<Layer> layer;
  Tensor* output = nullptr;
  Range parameters;
  Port* input = nullptr;            // if there is one only
};

class CpuNetwork : public Network {
 public:
  CpuNetwork(Device& device, const NetworkSpec& spec, const Numerics& numerics, std::size_t part_bytes)
      : device_(device), spec_(spec), numerics_(numerics), part_bytes_(part_bytes), weights_(device, spec.parameters),
        gradients_(device, spec.parameters), buffers_(device, spec.buffers) {
    const std::vector<float> buffers = initial_buffers(spec);
    device.copy_to_device(buffers_.data(), buffers.data(), buffers.size() * sizeof(float));
    build();
  }

  Vec weights() override { return weights_.span(); }
  Vec gradients() override { return gradients_.span(); }
  Vec buffers() override { return buffers_.span(); }
  std::size_t classes() const override { return spec_.classes; }
  std::size_t outputs() const override { return spec_.targets * spec_.classes; }
  void reserve(std::size_t samples) override;
  Vec forward(Feed& feed, std::size_t first, std::size_t count, const Pass& pass, ConstVec weights) override;
  void loss(Feed& feed, std::size_t first, std::size_t count, ConstVec logits, Vec dlogits, float scale) override;
  void backward(ConstVec dlogits, const Ready& ready, float share) override;
  std::vector<Stored> stored() const override;
  Tally take_tally() override { return std::exchange(tally_, Tally()); }
  void synchronize_batch_norm(std::function<void(Vec)> all_reduce) override {
    for (Node& node : nodes_) node.layer->synchronize(all_reduce);
  }

 private:
  void build();
  std::size_t add_layer(std::size_t index);
  std::unique_ptr<Layer> make_layer(std::size_t index, const Fusion& fusion, const std::vector<Port*>& ports,
                                    Tensor& output);
  Tensor& new_tensor(const Shape& shape, bool blocked, bool needs_gradient);
  Port& new_port(Tensor& tensor);
  Tensor& as_rows(Tensor& tensor);
  void add_gradients(Tensor& tensor) const;
  bool is_joined(std::size_t index) const;
  bool is_joined_back(std::size_t index) const;
  std::size_t samples_of_part(std::size_t begin, std::size_t end) const;
  std::size_t forward_from(std::size_t index);
  std::size_t backward_to(std::size_t end, const Ready& ready);

  Device& device_;
  const NetworkSpec spec_;
  const Numerics numerics_;
  const std::size_t part_bytes_;
  Array<float> weights_, gradients_, buffers_;

  // Layers hold references to tensors and ports, which stay valid in deques.
  std::deque<Tensor> tensors_;
  std::deque<Port> ports_;
  std::vector<Node> nodes_;
  std::vector<Tensor*> outputs_;    // [0] is the sample, [i + 1] the output of layer i
  const Readers readers_{spec_};

  std::vector<Array<float>> memory_;
  std::size_t capacity_ = 0;
  Work work_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint32_t> targets_;
  Tally tally_;
};

Tensor& CpuNetwork::new_tensor(const Shape& shape, bool blocked, bool needs_gradient) {
  std::size_t features = 1;
  for (std::size_t size : shape) features *= size;
  return tensors_.emplace_back(Tensor{shape, features, blocked, needs_gradient});
}

Port& CpuNetwork::new_port(Tensor& tensor) { return ports_.emplace_back(Port{&tensor}); }

void CpuNetwork::build() {
  bool rows = true;
  for (const LayerSpec& layer : spec_.layers) {
    const bool reads_sample = std::count(layer.inputs.begin(), layer.inputs.end(), -1) > 0;
    rows = rows && (!reads_sample || layer.config.type == LayerType::flatten || layer.config.type == LayerType::dense);
  }
  outputs_.assign(spec_.layers.size() + 1, nullptr);
  outputs_[0] = &new_tensor(spec_.sample_shape, !rows && spec_.sample_shape.size() == 3, false);
  for (std::size_t index = 0; index < spec_.layers.size();) index += add_layer(index);
}

// Converts a blocked tensor to rows.
Tensor& CpuNetwork::as_rows(Tensor& tensor) {
  if (!tensor.blocked) return tensor;
  Tensor& rows = new_tensor({tensor.features}, false, tensor.needs_gradient);
  Port& port = new_port(tensor);
  nodes_.push_back({make_flatten(port, rows), &rows, {}, &port});
  return rows;
}

// Adds layer `index` and the layers fused into it. Returns the number of layers of the specification that it covers.
std::size_t CpuNetwork::add_layer(std::size_t index) {
  const LayerSpec& layer = spec_.layers[index];
  const LayerType type = layer.config.type;
  std::vector<Tensor*> inputs;
  for (int input : layer.inputs) inputs.push_back(outputs_[static_cast<std::size_t>(input + 1)]);

  if (type == LayerType::flatten || (type == LayerType::dropout && !numerics_.dropout)) {
    outputs_[index + 1] = type == LayerType::flatten ? &as_rows(*inputs.front()) : inputs.front();
    return 1;
  }
  if (type == LayerType::dense) inputs.front() = &as_rows(*inputs.front());

  std::size_t used = 1;
  Fusion fusion{activation_of(type), nullptr};
  const bool is_image = inputs.front()->blocked && (type == LayerType::conv || type == LayerType::batch_norm);
  if (is_image || type == LayerType::dense) {
    if (readers_.is_only_reader(index + used, index)) fusion.activation = activation_of(spec_.layers[index + 1].config.type);
    if (fusion.activation != Activation::none) ++used;
  }
  if (is_image && !numerics_.average_pooling && readers_.is_only_reader(index + used, index + used - 1)) {
    const LayerSpec& next = spec_.layers[index + used];
    if (next.config.type == LayerType::max_pool && PooledRows::fit(next.config)) {
      fusion.pool = &next;
      ++used;
    }
  }

  const Range parameters = layer.parameters();
  const bool needs_gradient = parameters.size() > 0 ||
                      std::any_of(inputs.begin(), inputs.end(), [](const Tensor* input) { return input->needs_gradient; });
  const Shape& shape = spec_.layers[index + used - 1].output_shape;
  Tensor& output = new_tensor(shape, inputs.front()->blocked && shape.size() == 3, needs_gradient);
  std::vector<Port*> ports;
  for (Tensor* input : inputs) ports.push_back(&new_port(*input));
  nodes_.push_back({make_layer(index, fusion, ports, output), &output, parameters, ports.size() == 1 ? ports.front() : nullptr});
  outputs_[index + used] = &output;
  return used;
}

std::unique_ptr<Layer> CpuNetwork::make_layer(std::size_t index, const Fusion& fusion, const std::vector<Port*>& ports,
                                              Tensor& output) {
  const LayerSpec& layer = spec_.layers[index];
  const LayerType type = layer.config.type;
  Port& port = *ports.front();
  if (type == LayerType::conv) return make_convolution(device_, layer, fusion, port, output);
  if (type == LayerType::dense) return make_dense(layer, fusion.activation, port, output);
  if (type == LayerType::max_pool || type == LayerType::average_pool)
    return make_pooling(device_, layer, type == LayerType::average_pool || numerics_.average_pooling, port, output);
  if (type == LayerType::dropout) return make_dropout(device_, layer, index, port, output);
  if (type == LayerType::batch_norm) return make_batch_norm(device_, layer, fusion, port, output);
  if (type == LayerType::gru) return make_gru(device_, layer, port, output);
  if (type == LayerType::lstm) return make_lstm(device_, layer, port, output);
  if (type == LayerType::add) return make_sum(ports, output);
  if (type == LayerType::concat) return make_concatenation(ports, output);
  if (type == LayerType::embedding) return make_embedding(layer, port, output);
  if (type == LayerType::one_hot) return make_one_hot(layer, port, output);
  if (type == LayerType::global_average_pool) return make_global_pooling(layer, port, output);
  if (type == LayerType::layer_norm) return make_layer_norm(layer, port, output);
  if (type == LayerType::gelu) return make_gelu(port, output);
  if (type == LayerType::lrn) return make_response_norm(device_, layer, port, output);
  return make_activation(fusion.activation, port, output);
}

void CpuNetwork::reserve(std::size_t samples) {
  if (samples <= capacity_) return;
  memory_.clear();
  const auto allocate = [&](const Tensor& tensor) {
    return memory_.emplace_back(device_, std::max<std::size_t>(tensor.size(samples), 1)).data();
  };
  for (Tensor& tensor : tensors_) {
    tensor.value = allocate(tensor);
    if (tensor.needs_gradient) tensor.gradient = allocate(tensor);
  }
  for (Port& port : ports_) {
    if (!port.tensor->needs_gradient) continue;
    const auto same = [&](const Port& other) { return other.tensor == port.tensor; };
    const bool alone = std::count_if(ports_.begin(), ports_.end(), same) == 1;
    port.gradient = alone ? port.tensor->gradient : allocate(*port.tensor);
  }
  for (Node& node : nodes_) node.layer->reserve(samples);
  ids_.resize(samples);
  capacity_ = samples;
}

std::vector<Stored> CpuNetwork::stored() const {
  std::uint64_t bytes = 0;
  for (const Array<float>& memory : memory_) bytes += memory.span().bytes();
  return {{"activations and their gradients", "fp32", bytes}};
}

// Whether the layer of node `index` reads what the one before it writes, and both can work on parts.
bool CpuNetwork::is_joined(std::size_t index) const {
  if (index == 0 || index >= nodes_.size()) return false;
  const Node& node = nodes_[index];
  const Node& before = nodes_[index - 1];
  return node.layer->of_parts() != nullptr && before.layer->of_parts() != nullptr && node.input != nullptr && node.input->tensor == before.output;
}

// Likewise, in the backward pass: the gradient that node `index` writes is the whole gradient of the output before it.
bool CpuNetwork::is_joined_back(std::size_t index) const {
  return is_joined(index) && nodes_[index].input->tensor->needs_gradient && nodes_[index].input->gradient == nodes_[index].input->tensor->gradient;
}

// Samples at a time for the layers of nodes [begin, end).
std::size_t CpuNetwork::samples_of_part(std::size_t begin, std::size_t end) const {
  std::size_t features = 1, least = kLanes;
  for (std::size_t index = begin; index < end; ++index) {
    features = std::max({features, nodes_[index].output->features, nodes_[index].input->tensor->features});
    least = std::max(least, nodes_[index].layer->of_parts()->samples_of_part());
  }
  return std::max<std::size_t>(part_bytes_ / (features * sizeof(float)) / least, 1) * least;
}

// The layer of node `index`, and the next one if it reads the output of batch normalisation. The two take turns on parts of the samples, and batch
// normalisation that follows observes each part. Returns the first layer that is left.
std::size_t CpuNetwork::forward_from(std::size_t index) {
  const auto needs_all = [&](std::size_t at) { return nodes_[at].layer->of_parts()->needs_all(); };
  std::size_t end = index + 1;
  if (is_joined(end) && needs_all(index) && !needs_all(end)) ++end;
  LayerOfParts* const observer = is_joined(end) && needs_all(end) ? nodes_[end].layer->of_parts() : nullptr;
  if (end == index + 1 && observer == nullptr) {
    nodes_[index].layer->forward(work_);
    return end;
  }
  for (std::size_t at = index; at < end; ++at) nodes_[at].layer->of_parts()->begin_forward(work_);
  const std::size_t step = samples_of_part(index, end);
  for (std::size_t first = 0; first < work_.samples; first += step) {
    const Range part{first, std::min(first + step, work_.samples)};
    for (std::size_t at = index; at < end; ++at) nodes_[at].layer->of_parts()->forward_part(work_, part);
    if (observer != nullptr) observer->observe(work_, part);
  }
  return end;
}

Vec CpuNetwork::forward(Feed& feed, std::size_t first, std::size_t count, const Pass& pass, ConstVec weights) {
  omp_set_num_threads(1);  // applies to the calling thread: one core per rank
  reserve(std::max<std::size_t>(count, 1));  // also for an empty share, so that layers always have memory
  const auto& source = static_cast<const CpuFeed&>(feed);
  const Span<const std::uint32_t> ids = source.ids(first, count);
  std::copy(ids.begin(), ids.end(), ids_.begin());
  source.gather(ids, pass, *outputs_.front());
  work_ = {count, pass.training, pass.seed, pass.epoch, ids_.data(), weights.empty() ? weights_.data() : weights.data(),
           gradients_.data(), buffers_.data()};
  for (std::size_t index = 0; index < nodes_.size();) index = forward_from(index);
  return {outputs_.back()->value, count * spec_.targets * spec_.classes};
}

void CpuNetwork::loss(Feed& feed, std::size_t first, std::size_t count, ConstVec logits, Vec dlogits, float scale) {
  const auto& source = static_cast<const CpuFeed&>(feed);
  const std::size_t rows = count * spec_.targets;
  targets_.resize(std::max(targets_.size(), rows));
  const Span<std::uint32_t> targets{targets_.data(), rows};
  source.targets(source.ids(first, count), targets);
  softmax_cross_entropy(logits, spec_.classes, targets, dlogits, scale / static_cast<float>(spec_.targets), tally_);
}

void CpuNetwork::add_gradients(Tensor& tensor) const {
  const std::size_t size = tensor.size(work_.samples);
  bool begun = false;
  for (const Port& port : ports_) {
    if (port.tensor != &tensor || port.gradient == tensor.gradient) continue;
    if (begun) {
      for (std::size_t i = 0; i < size; ++i) tensor.gradient[i] += port.gradient[i];
    } else {
      std::memcpy(tensor.gradient, port.gradient, size * sizeof(float));
    }
    begun = true;
  }
}

void CpuNetwork::backward(ConstVec dlogits, const Ready& ready, float share) {
  omp_set_num_threads(1);
  if (dlogits.size() != work_.samples * spec_.targets * spec_.classes) {
    throw Error(fmt::format("backward() got {} values, but the last forward() had {} samples of {} classes: call backward() "
                            "after forward() of the same batch",
                            dlogits.size(), work_.samples * spec_.targets, spec_.classes));
  }
  work_.share = share;
  Tensor& logits = *outputs_.back();
  if (!dlogits.empty() && logits.needs_gradient) std::copy(dlogits.begin(), dlogits.end(), logits.gradient);
  for (std::size_t end = nodes_.size(); end > 0;) end = backward_to(end, ready);
}

// forward_from() in the other direction, for the layer before `end`. Returns the end of the layers that are left. Of the layers that take
// turns at most one may be a convolution, because open sums of its weights' gradient use memory of the thread (winograd.h).
std::size_t CpuNetwork::backward_to(std::size_t end, const Ready& ready) {
  const auto needs_all = [&](std::size_t at) { return nodes_[at].layer->of_parts()->needs_all(); };
  std::size_t begin = end - 1;
  if (!nodes_[begin].output->needs_gradient) return begin;
  if (nodes_[begin].output != outputs_.back()) add_gradients(*nodes_[begin].output);
  if (is_joined_back(begin) && needs_all(begin) && !needs_all(begin - 1)) --begin;
  LayerOfParts* const observer = is_joined_back(begin) && needs_all(begin - 1) ? nodes_[begin - 1].layer->of_parts() : nullptr;
  if (begin == end - 1 && observer == nullptr) {
    nodes_[begin].layer->backward(work_);
  } else {
    for (std::size_t at = end; at-- > begin;) nodes_[at].layer->of_parts()->begin_backward(work_);
    const std::size_t step = samples_of_part(begin, end);
    for (std::size_t first = 0; first < work_.samples; first += step) {
      const Range part{first, std::min(first + step, work_.samples)};
      for (std::size_t at = end; at-- > begin;) nodes_[at].layer->of_parts()->backward_part(work_, part);
      if (observer != nullptr) observer->observe_gradient(work_, part);
    }
    for (std::size_t at = end; at-- > begin;) nodes_[at].layer->of_parts()->end_backward(work_);
  }
  // Only after all parts of the layers that take turns, whose gradients end_backward() completes.
  for (std::size_t at = end; at-- > begin;) {
    if (nodes_[at].parameters.size() > 0 && ready) ready(gradients().slice(nodes_[at].parameters));
  }
  return begin;
}

}  // namespace

std::unique_ptr<Network> make_network(Device& device, const NetworkSpec& spec, const Numerics& numerics, std::size_t part_bytes) {
  if (numerics.precision != Precision::fp32) {
    throw Error(fmt::format("precision {} is not available on a CPU: use fp32", to_string(numerics.precision)));
  }
  return std::make_unique<CpuNetwork>(device, spec, numerics, part_bytes);
}

}  // namespace mgcompare
