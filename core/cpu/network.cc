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
#include "cpu/join.h"
#include "cpu/loss.h"
#include "mgcompare/error.h"
#include "cpu/pooling.h"

namespace mgcompare {
namespace {

struct Node {
  std::unique_ptr<Layer> layer;
  Tensor* output = nullptr;
  Range parameters;                 // weights and bias, consecutive
};

class CpuNetwork : public Network {
 public:
  CpuNetwork(Device& device, const NetworkSpec& spec, const Numerics& numerics)
      : device_(device), spec_(spec), numerics_(numerics), weights_(device, spec.parameters),
        gradients_(device, spec.parameters), buffers_(device, spec.buffers) {
    const std::vector<float> buffers = initial_buffers(spec);
    device.copy_to_device(buffers_.data(), buffers.data(), buffers.size() * sizeof(float));
    build();
  }

  Vec weights() override { return weights_.span(); }
  Vec gradients() override { return gradients_.span(); }
  Vec buffers() override { return buffers_.span(); }
  std::size_t classes() const override { return spec_.classes; }
  void reserve(std::size_t samples) override;
  Vec forward(Feed& feed, std::size_t first, std::size_t count, const Pass& pass, ConstVec weights) override;
  void loss(Feed& feed, std::size_t first, std::size_t count, ConstVec logits, Vec dlogits, float scale) override;
  void backward(ConstVec dlogits, const Ready& ready, float share) override;
  Tally take_tally() override { return std::exchange(tally_, Tally()); }
  void synchronize_batch_norm(std::function<void(Vec)> all_reduce) override {
    for (Node& node : nodes_) node.layer->synchronize(all_reduce);
  }

 private:
  void build();
  std::size_t add_layer(std::size_t index);
  std::vector<std::size_t> count_readers() const;
  bool reads_alone(std::size_t index, std::size_t producer) const;
  Tensor& new_tensor(const Shape& shape, bool blocked, bool wanted);
  Port& new_port(Tensor& tensor);
  Tensor& as_rows(Tensor& tensor);
  void add_gradients(Tensor& tensor) const;

  Device& device_;
  const NetworkSpec spec_;
  const Numerics numerics_;
  Array<float> weights_, gradients_, buffers_;

  // References to tensors and ports are held by layers: deques keep them where they are.
  std::deque<Tensor> tensors_;
  std::deque<Port> ports_;
  std::vector<Node> nodes_;
  std::vector<Tensor*> outputs_;    // of layer i - 1; the first is the sample
  std::vector<std::size_t> readers_;

  std::vector<Array<float>> memory_;
  std::size_t capacity_ = 0;
  Work work_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint8_t> labels_;
  Tally tally_;
};

Tensor& CpuNetwork::new_tensor(const Shape& shape, bool blocked, bool wanted) {
  std::size_t features = 1;
  for (std::size_t size : shape) features *= size;
  return tensors_.emplace_back(Tensor{shape, features, blocked, wanted});
}

Port& CpuNetwork::new_port(Tensor& tensor) { return ports_.emplace_back(Port{&tensor}); }

// Readers of the sample, then of each layer's output.
std::vector<std::size_t> CpuNetwork::count_readers() const {
  std::vector<std::size_t> readers(spec_.layers.size() + 1, 0);
  for (const LayerSpec& layer : spec_.layers) {
    for (int input : layer.inputs) ++readers[static_cast<std::size_t>(input + 1)];
  }
  return readers;
}

// Whether layer `index` exists and is the one reader of what layer `producer` gives.
bool CpuNetwork::reads_alone(std::size_t index, std::size_t producer) const {
  return index < spec_.layers.size() && readers_[producer + 1] == 1 && spec_.layers[index].inputs.size() == 1 &&
         spec_.layers[index].inputs.front() == static_cast<int>(producer);
}

void CpuNetwork::build() {
  readers_ = count_readers();
  bool rows = true;
  for (const LayerSpec& layer : spec_.layers) {
    const bool reads_sample = std::count(layer.inputs.begin(), layer.inputs.end(), -1) > 0;
    rows = rows && (!reads_sample || layer.config.type == LayerType::flatten || layer.config.type == LayerType::dense);
  }
  outputs_.assign(spec_.layers.size() + 1, nullptr);
  outputs_[0] = &new_tensor(spec_.sample_shape, !rows && spec_.sample_shape.size() == 3, false);
  for (std::size_t index = 0; index < spec_.layers.size();) index += add_layer(index);
}

// Inserts the transposition where a tensor of blocks is read as rows.
Tensor& CpuNetwork::as_rows(Tensor& tensor) {
  if (!tensor.blocked) return tensor;
  Tensor& rows = new_tensor({tensor.features}, false, tensor.wanted);
  nodes_.push_back({make_flatten(new_port(tensor), rows), &rows, {}});
  return rows;
}

// Adds layer `index` and what is fused into it; returns how many layers of the specification that was.
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
  Activation activation = activation_of(type);
  const LayerSpec* pool = nullptr;
  if (type == LayerType::conv || type == LayerType::dense) {
    if (reads_alone(index + used, index)) activation = activation_of(spec_.layers[index + 1].config.type);
    if (activation != Activation::none) ++used;
  }
  if (type == LayerType::conv && !numerics_.average_pooling && reads_alone(index + used, index + used - 1)) {
    const LayerSpec& next = spec_.layers[index + used];
    if (next.config.type == LayerType::max_pool && fuses(next)) {
      pool = &next;
      ++used;
    }
  }

  const Range parameters{layer.weights.begin, std::max(layer.weights.end, layer.bias.end)};
  const bool wanted = parameters.size() > 0 ||
                      std::any_of(inputs.begin(), inputs.end(), [](const Tensor* input) { return input->wanted; });
  const Shape& shape = spec_.layers[index + used - 1].output_shape;
  Tensor& output = new_tensor(shape, inputs.front()->blocked && shape.size() == 3, wanted);
  std::vector<Port*> ports;
  for (Tensor* input : inputs) ports.push_back(&new_port(*input));
  Port& port = *ports.front();

  std::unique_ptr<Layer> made;
  if (type == LayerType::conv) {
    made = make_convolution(device_, layer, {activation, pool}, port, output);
  } else if (type == LayerType::dense) {
    made = make_dense(layer, activation, port, output);
  } else if (type == LayerType::max_pool || type == LayerType::average_pool) {
    made = make_pooling(device_, layer, type == LayerType::average_pool || numerics_.average_pooling, port, output);
  } else if (type == LayerType::dropout) {
    made = make_dropout(device_, layer, index, port, output);
  } else if (type == LayerType::batch_norm) {
    made = make_batch_norm(device_, layer, port, output);
  } else if (type == LayerType::add) {
    made = make_sum(ports, output);
  } else if (type == LayerType::concat) {
    made = make_concatenation(ports, output);
  } else {
    made = make_activation(activation, port, output);
  }
  nodes_.push_back({std::move(made), &output, parameters});
  outputs_[index + used] = &output;
  return used;
}

void CpuNetwork::reserve(std::size_t samples) {
  if (samples <= capacity_) return;
  memory_.clear();
  const auto room = [&](const Tensor& tensor) {
    return memory_.emplace_back(device_, std::max<std::size_t>(tensor.size(samples), 1)).data();
  };
  for (Tensor& tensor : tensors_) {
    tensor.value = room(tensor);
    if (tensor.wanted) tensor.gradient = room(tensor);
  }
  for (Port& port : ports_) {
    if (!port.tensor->wanted) continue;
    const auto same = [&](const Port& other) { return other.tensor == port.tensor; };
    const bool alone = std::count_if(ports_.begin(), ports_.end(), same) == 1;
    port.gradient = alone ? port.tensor->gradient : room(*port.tensor);
  }
  for (Node& node : nodes_) node.layer->reserve(samples);
  ids_.resize(samples);
  capacity_ = samples;
}

Vec CpuNetwork::forward(Feed& feed, std::size_t first, std::size_t count, const Pass& pass, ConstVec weights) {
  omp_set_num_threads(1);  // of this thread only: every rank computes alone
  reserve(std::max<std::size_t>(count, 1));  // an empty share has memory too: layers need not ask
  const auto& source = static_cast<const CpuFeed&>(feed);
  const Span<const std::uint32_t> ids = source.ids(first, count);
  std::copy(ids.begin(), ids.end(), ids_.begin());
  source.gather(ids, *outputs_.front());
  work_ = {count, pass.training, pass.seed, pass.epoch, ids_.data(), weights.empty() ? weights_.data() : weights.data(),
           gradients_.data(), buffers_.data()};
  for (Node& node : nodes_) node.layer->forward(work_);
  return {outputs_.back()->value, count * spec_.classes};
}

void CpuNetwork::loss(Feed& feed, std::size_t first, std::size_t count, ConstVec logits, Vec dlogits, float scale) {
  const auto& source = static_cast<const CpuFeed&>(feed);
  labels_.resize(std::max(labels_.size(), count));
  const Span<std::uint8_t> labels{labels_.data(), count};
  source.labels(source.ids(first, count), labels);
  softmax_cross_entropy(logits, spec_.classes, labels, dlogits, scale, tally_);
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
  if (dlogits.size() != work_.samples * spec_.classes) {
    throw Error(fmt::format("backward() was given {} values for {} samples of {} classes: call it after forward() of its batch",
                            dlogits.size(), work_.samples, spec_.classes));
  }
  work_.share = share;
  Tensor& logits = *outputs_.back();
  if (!dlogits.empty() && logits.wanted) std::copy(dlogits.begin(), dlogits.end(), logits.gradient);
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (!node->output->wanted) continue;
    if (node->output != &logits) add_gradients(*node->output);
    node->layer->backward(work_);
    if (node->parameters.size() > 0 && ready) ready(gradients().slice(node->parameters));
  }
}

}  // namespace

std::unique_ptr<Network> make_network(Device& device, const NetworkSpec& spec, const Numerics& numerics) {
  if (numerics.precision != Precision::fp32) {
    throw Error(fmt::format("precision {} is not available on a CPU: use fp32", to_string(numerics.precision)));
  }
  return std::make_unique<CpuNetwork>(device, spec, numerics);
}

}  // namespace mgcompare
