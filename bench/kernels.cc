// LeNet on one core: each convolution, the dense layers, and the whole training step; the training step of a network of padded
// 3 x 3 convolutions with batch normalisation. Times are per batch; the counter samples_per_second is comparable with other programs.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "cpu/device.h"
#include "cpu/feed.h"
#include "cpu/network.h"
#include "model/optimizer.h"
#include "model/spec.h"

namespace mgcompare {
namespace {

constexpr std::size_t kSamples = 4096;

LayerConfig layer(const std::string& type, std::size_t channels = 0, std::size_t kernel = 0, std::size_t stride = 1) {
  LayerConfig config;
  config.type = kind_named<LayerType>(type);
  config.channels = channels;
  for (int axis : {0, 1}) {
    config.kernel[axis] = kernel;
    config.stride[axis] = stride;
  }
  return config;
}

Split random_split(const Shape& shape) {
  std::size_t features = 1;
  for (std::size_t size : shape) features *= size;
  const Random random(1, 1);
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < kSamples * features; ++i) bytes.push_back(static_cast<std::uint8_t>(random.word(i)));
  Split split;
  split.samples = kSamples;
  for (std::size_t i = 0; i < kSamples; ++i) split.targets.push_back(bytes[i] % 10u);
  split.values = SharedBytes(std::move(bytes));
  return split;
}

SampleSpec ten_classes(const Shape& shape) {
  SampleSpec spec;
  spec.shape = shape;
  spec.classes = 10;
  return spec;
}

class Training {
 public:
  Training(const ModelConfig& model, const Shape& shape)
      : device_(0, meter_), shape_(shape), spec_(make_spec(model, ten_classes(shape), false)),
        network_(make_network(device_, spec_, {})), feed_(make_feed(device_, ten_classes(shape), random_split(shape), preparation_of({}, ten_classes(shape)))) {
    OptimizerConfig config;
    config.momentum = 0.9;
    config.weight_decay = 1e-4;
    optimizer_ = make_host_optimizer(config, spec_.parts, &device_);
    const std::vector<float> weights = initial_weights(spec_, 1);
    copy_to_device(device_, network_->weights(), ConstVec{weights.data(), weights.size()});
  }

  // Forward, loss, backward and, if `update`, the weight update.
  void step(std::size_t batch, bool update) {
    if (at_ + batch > kSamples) at_ = 0;
    dlogits_.resize(batch * 10);
    const Vec dlogits{dlogits_.data(), dlogits_.size()};
    const Vec logits = network_->forward(*feed_, at_, batch, {}, {});
    network_->loss(*feed_, at_, batch, logits, dlogits, 1.0f / static_cast<float>(batch));
    network_->backward(dlogits, {});
    if (update) {
      optimizer_->update(network_->weights(), network_->gradients(), Batch({0, 0, at_, batch, 0, 1, 0.01}, shape_));
    }
    at_ += batch;
  }

  void forward(std::size_t batch) { network_->forward(*feed_, 0, batch, {false, 0, 0}, {}); }

 private:
  MemoryMeter meter_;
  CpuDevice device_;
  Shape shape_;
  NetworkSpec spec_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<float> dlogits_;
  std::size_t at_ = 0;
};

void count(benchmark::State& state) {
  state.counters["samples_per_second"] =
      benchmark::Counter(static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate);
}

const ModelConfig& lenet() {
  static const ModelConfig model{"lenet",
                                 {layer("conv", 20, 5), layer("tanh"), layer("max_pool", 0, 2, 2), layer("conv", 50, 5),
                                  layer("tanh"), layer("max_pool", 0, 2, 2), layer("flatten"), layer("dense", 500),
                                  layer("tanh"), layer("dense", 10)}};
  return model;
}

void lenet_training(benchmark::State& state) {
  Training training(lenet(), {1, 28, 28});
  for (auto _ : state) training.step(static_cast<std::size_t>(state.range(0)), true);
  count(state);
}

void lenet_forward(benchmark::State& state) {
  Training training(lenet(), {1, 28, 28});
  for (auto _ : state) training.forward(static_cast<std::size_t>(state.range(0)));
  count(state);
}

// The first convolution with its activation and pooling, forward and backward, followed by a dense layer of 10 outputs.
void lenet_convolution_1(benchmark::State& state) {
  Training training({"conv1", {layer("conv", 20, 5), layer("tanh"), layer("max_pool", 0, 2, 2), layer("dense", 10)}},
                    {1, 28, 28});
  for (auto _ : state) training.step(static_cast<std::size_t>(state.range(0)), false);
  count(state);
}

// The second convolution. The 1 x 1 convolution before it makes it compute the gradient of its input.
void lenet_convolution_2(benchmark::State& state) {
  Training training({"conv2", {layer("conv", 20, 1), layer("conv", 50, 5), layer("tanh"), layer("max_pool", 0, 2, 2),
                               layer("dense", 10)}},
                    {1, 12, 12});
  for (auto _ : state) training.step(static_cast<std::size_t>(state.range(0)), false);
  count(state);
}

void lenet_dense(benchmark::State& state) {
  Training training({"dense", {layer("dense", 500), layer("tanh"), layer("dense", 10)}}, {800});
  for (auto _ : state) training.step(static_cast<std::size_t>(state.range(0)), true);
  count(state);
}

// Padded 3 x 3 convolutions, each with batch normalisation and relu, and two poolings.
void padded_training(benchmark::State& state) {
  ModelConfig model{"padded", {}};
  for (std::size_t channels : {32u, 32u, 64u}) {
    LayerConfig convolution = layer("conv", channels, 3);
    convolution.padding[0] = convolution.padding[1] = 1;
    LayerConfig norm = layer("batch_norm");
    norm.momentum = 0.9;
    norm.epsilon = 1e-5;
    model.layers.insert(model.layers.end(), {convolution, norm, layer("relu")});
    if (model.layers.size() > 3) model.layers.push_back(layer("max_pool", 0, 2, 2));
  }
  model.layers.push_back(layer("flatten"));
  model.layers.push_back(layer("dense", 10));
  Training training(model, {3, 32, 32});
  for (auto _ : state) training.step(static_cast<std::size_t>(state.range(0)), true);
  count(state);
}

#define MGCOMPARE_BENCHMARK(name) BENCHMARK(name)->Arg(64)->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond)
MGCOMPARE_BENCHMARK(lenet_training);
MGCOMPARE_BENCHMARK(lenet_forward);
MGCOMPARE_BENCHMARK(lenet_convolution_1);
MGCOMPARE_BENCHMARK(lenet_convolution_2);
MGCOMPARE_BENCHMARK(lenet_dense);
BENCHMARK(padded_training)->Arg(128)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mgcompare

BENCHMARK_MAIN();
