#include "plan/statistics_lag.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace mgcompare {
namespace {

constexpr double kLargeShare = 0.05;
constexpr double kUsual = 0.9;  // in other programs

}  // namespace

std::string statistics_lag_warning(const Config& config, std::size_t samples) {
  // A training that was cut down for a machine without GPUs is no measure of accuracy.
  if (config.cut_down_for_cpu || config.scaling.batch.empty()) return "";
  double momentum = 0;
  for (const LayerConfig& layer : config.model.layers)
    if (layer.type == LayerType::batch_norm) momentum = std::max(momentum, layer.momentum);
  std::size_t batch = *std::max_element(config.scaling.batch.begin(), config.scaling.batch.end());
  if (config.scaling.mode == ScalingMode::weak) {
    std::size_t most = 1;
    for (const DevicesConfig& devices : config.scaling.devices) most = std::max(most, devices.count);
    batch *= most;
  }
  const std::size_t steps = config.epochs * ((training_samples(config.data, samples) + batch - 1) / batch);
  // running = momentum * running + (1 - momentum) * batch, after each step
  const double left = std::pow(momentum, static_cast<double>(steps));
  if (left < kLargeShare) return "";
  const std::string advice = std::pow(kUsual, static_cast<double>(steps)) < kLargeShare ? fmt::format(", or set its `momentum` to {:g}", kUsual) : "";
  return fmt::format("after the {} step{} of a training with batch {}, {:.0f} % of the running statistics of `batch_norm` (momentum {:g}), with which the network "
                     "is evaluated, are still their initial values: train more epochs{}",
                     steps, steps == 1 ? "" : "s", batch, 100 * left, momentum, advice);
}

}  // namespace mgcompare
