#include "fixture.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "data/load.h"
#include "strategy_plugins.h"

namespace mgcompare::testing {
namespace {

LayerConfig layer(const std::string& type, std::size_t channels = 0, std::size_t kernel = 0, std::size_t stride = 1) {
  LayerConfig config;
  config.type = kind_named<LayerType>(type);
  config.channels = channels;
  config.kernel[0] = config.kernel[1] = kernel;
  config.stride[0] = config.stride[1] = stride;
  return config;
}

ModelConfig named(const std::string& name, std::vector<LayerConfig> layers) {
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i].name = std::string(to_string(layers[i].type)) + std::to_string(i + 1);
  return {name, std::move(layers)};
}

}  // namespace

const Dataset& small_digits() {
  static const Dataset data = [] {
    DataConfig config;
    config.set = DataSource::digits;
    config.train_samples = 730;
    config.test_samples = 200;
    return load_dataset(config, {}, [](const std::string&) {});
  }();
  return data;
}

Dataset first_digits(std::size_t samples) {
  Dataset first = small_digits();
  first.train = part_of(first.train, 0, samples);
  return first;
}

ModelConfig small_model() {
  return named("small", {layer("conv", 5, 5, 2), layer("tanh"), layer("average_pool", 0, 2, 2), layer("dense", 23), layer("tanh"), layer("dense", 10)});
}

ModelConfig normalised_model() {
  ModelConfig model = small_model();
  LayerConfig normalisation;
  normalisation.type = LayerType::batch_norm;
  normalisation.name = "batch_norm";
  model.layers.insert(model.layers.begin() + 2, normalisation);
  return model;
}

ModelConfig lenet_model() {
  return named("lenet", {layer("conv", 20, 5), layer("tanh"), layer("max_pool", 0, 2, 2), layer("conv", 50, 5), layer("tanh"),
                         layer("max_pool", 0, 2, 2), layer("dense", 500), layer("tanh"), layer("dense", 10)});
}

Trial small_trial(std::size_t ranks, const std::string& plugin, const std::vector<OptionConfig>& options) {
  Trial trial;
  trial.ranks_per_device = ranks;
  trial.global_batch = 50;
  trial.strategy = {plugin, plugin, options, {}};
  if (!plugin.empty()) trial.plugin_file = file_of_plugin(plugin);
  trial.config.model = small_model();
  trial.config.data.set = DataSource::digits;
  trial.config.optimizer.momentum = 0.9;
  trial.config.optimizer.weight_decay = 1e-4;
  trial.config.epochs = 2;
  trial.config.measure.level = MeasureLevel::quick;
  trial.config.measure.warm_up_steps = 1;
  trial.config.deterministic = true;
  return trial;
}

TrainingOutcome run(const Trial& trial, const MakeStrategy& make, const std::function<void(TrainingRequest&)>& tune) {
  TrainingRequest request;
  request.trial = &trial;
  request.dataset = &small_digits();
  request.platform = &platform(DeviceKind::cpu);
  request.make = make ? make : [&trial](Options& options, const Facts& facts) { return make_strategy(trial.plugin_file, options, facts); };
  if (tune) tune(request);
  return train(request);
}

TrainingOutcome run_in_two_parts(const Trial& trial, const std::function<void(TrainingRequest&)>& tune) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / ("mgcompare-parts-" + std::to_string(::getpid()));
  std::filesystem::remove(file);
  const auto part = [&](bool resume) {
    return run(trial, {}, [&](TrainingRequest& request) {
      request.files = {file.string(), resume};
      if (!resume) request.stop = [&] { return std::filesystem::exists(file); };
      if (tune) tune(request);
    });
  };
  EXPECT_THROW(part(false), Interrupted);
  EXPECT_TRUE(std::filesystem::exists(file));
  TrainingOutcome resumed = part(true);
  std::filesystem::remove(file);
  return resumed;
}

void expect_resumable(const Trial& trial) {
  const Result whole = run(trial).result, resumed = run_in_two_parts(trial).result;
  EXPECT_EQ(resumed.weights_hash, whole.weights_hash);
  EXPECT_EQ(resumed.updates, whole.updates);
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}

}  // namespace mgcompare::testing
