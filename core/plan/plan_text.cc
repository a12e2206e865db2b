// The plan as text, and estimates of its duration.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/number_text.h"
#include "base/text.h"
#include "base/text_table.h"
#include "discovery/manifest.h"
#include "model/spec.h"
#include "plan/plan.h"

namespace mgcompare {
namespace {

// Rough rates of small convolutional networks, for machines without measurements; seconds per step include kernel launches.
constexpr double kCpuOperationsPerSecond = 80e9, kCpuSecondsPerStep = 50e-6;
constexpr double kCudaOperationsPerSecond = 8e12, kCudaSecondsPerStep = 150e-6;
constexpr double kSecondsOfSetup = 0.3, kSecondsOfWorkerStart = 0.5;
// Backends load a framework, and those on GPUs compile or record the step, for each trial.
constexpr double kSecondsOfBackendOnCpu = 3, kSecondsOfBackendOnCuda = 10, kBackendSecondsPerStep = 1e-3;
constexpr std::ptrdiff_t kNetworkColumn = 3;
constexpr double kPassesOfTraining = 3;  // backward is about two forward passes

// How often one sample's forward pass multiplies by each weight.
double uses_of_weights(const LayerSpec& layer) {
  if (layer.config.type == LayerType::embedding) return 0;
  if (gates_of(layer.config.type) > 0) return static_cast<double>(layer.input_shapes.front()[0]);
  if (layer.config.type == LayerType::conv && layer.output_shape.size() == 3)
    return static_cast<double>(layer.output_shape[1] * layer.output_shape[2]);
  return layer.config.per_position ? static_cast<double>(layer.output_shape[0]) : 1;
}

// Multiplications and additions of one sample's forward pass.
double operations(const ModelConfig& model, const SampleSpec& samples) {
  double sum = 0;
  for (const LayerSpec& layer : make_spec(model, samples, false).layers) {
    sum += 2.0 * static_cast<double>(layer.weights.size() + layer.recurrent.size()) * uses_of_weights(layer);
  }
  return sum;
}

double seconds_of_setup(const Trial& trial) {
  double seconds = kSecondsOfSetup + (trial.config.isolation == Isolation::trial ? kSecondsOfWorkerStart : 0);
  if (is_backend(trial.plugin_file)) seconds += trial.device_kind == DeviceKind::cpu ? kSecondsOfBackendOnCpu : kSecondsOfBackendOnCuda;
  return seconds;
}

double guessed_samples_per_second(const Trial& trial, const SampleSpec& samples) {
  const bool cpu = trial.device_kind == DeviceKind::cpu;
  const double share = static_cast<double>(trial.global_batch) / static_cast<double>(trial.devices);
  const double own_seconds_per_step = cpu ? kCpuSecondsPerStep : kCudaSecondsPerStep;
  const double seconds_per_step = share * kPassesOfTraining * operations(trial.config.model, samples) /
                                      (cpu ? kCpuOperationsPerSecond : kCudaOperationsPerSecond) +
                                  (is_backend(trial.plugin_file) ? kBackendSecondsPerStep : own_seconds_per_step);
  return static_cast<double>(trial.global_batch) / seconds_per_step;
}

std::string duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::max(seconds, 1.0));
  const auto minutes = static_cast<long>(std::lround(seconds / 60));
  return minutes < 120 ? fmt::format("{} min", minutes) : fmt::format("{:.1f} h", seconds / 3600);
}

// "mnist (/data/mnist)", or what takes the place of a set that is not there.
std::string origin_of(const Plan& plan) {
  const DataConfig& data = plan.config.data;
  const std::string set(to_string(data.set));
  if (!plan.data.place.empty()) return fmt::format("{} ({})", set, plain(plan.data.place));
  switch (data.set) {
    case DataSource::digits:
    case DataSource::synthetic: return fmt::format("{} (drawn)", set);
    case DataSource::mnist:
    case DataSource::cifar10:
      if (data.fallback == DataFallback::none) return fmt::format("{} (not found here; it will be downloaded)", set);
      return fmt::format("{} (not found here; it will be downloaded, or drawn {} take its place)", set,
                         data.fallback == DataFallback::digits ? "digits" : "samples");
    default: return fmt::format("drawn samples in place of {} ({})", set, plain(data.path));
  }
}

// A set of the user that the fallback replaces. Of a published one it is not known before the download.
std::string missing_data_warning(const Plan& plan) {
  const DataConfig& data = plan.config.data;
  const bool is_own = data.set == DataSource::idx || data.set == DataSource::npy || data.set == DataSource::tokens || data.set == DataSource::text;
  if (!is_own || !plan.data.place.empty()) return "";
  return fmt::format("warning: {} ({}) is not available, so the samples are drawn: accuracies say nothing about it\n", to_string(data.set), plain(data.path));
}

std::string data_line(const Plan& plan) {
  const DataConfig& data = plan.config.data;
  const auto count = [](std::size_t samples) { return thousands(samples); };
  const std::size_t test = data.test_samples > 0 ? std::min(data.test_samples, plan.data.test_samples) : plan.data.test_samples;
  return fmt::format("data: {}, {}, {} training and {} samples", origin_of(plan), form_text(plan.data.spec),
                     count(training_samples(data, plan.data.train_samples)),
                     data.validation_samples > 0 ? count(data.validation_samples) + " validation" : count(test) + " test");
}

// Of arrays of the user. What two axes mean is not in them.
std::string axes_line(const Plan& plan) {
  const std::string remark = plan.config.data.set == DataSource::npy ? time_axis_remark(plan.data.spec) : "";
  return remark.empty() ? "" : remark + "\n";
}

}  // namespace

double estimate_seconds(const Trial& trial, const DataSummary& data, const std::map<std::string, double>& measured) {
  if (!trial.unavailable.empty()) return 0;
  const Config& config = trial.config;
  const auto known = measured.find(row_name(trial));
  const double rate = known != measured.end() && known->second > 0 ? known->second : guessed_samples_per_second(trial, data.spec);
  const auto samples = static_cast<double>(training_samples(config.data, data.train_samples));
  const std::size_t test =
      config.data.test_samples > 0 ? std::min(config.data.test_samples, data.test_samples) : data.test_samples;
  const auto evaluated =
      static_cast<double>(config.data.validation_samples > 0 ? config.data.validation_samples : test);
  const auto warm_up = static_cast<double>(config.measure.warm_up_steps * trial.global_batch);
  const double seconds = seconds_of_setup(trial) + warm_up / rate +
                         static_cast<double>(config.epochs) * (samples + evaluated / kPassesOfTraining) / rate;
  return std::min(seconds, config.measure.time_limit);
}

double estimate_seconds(const std::vector<Trial>& trials, const DataSummary& data, const std::map<std::string, double>& measured) {
  double seconds = trials.empty() ? 0 : kSecondsOfWorkerStart;
  for (const Trial& trial : trials) seconds += estimate_seconds(trial, data, measured);
  return seconds;
}

std::string describe(const Plan& plan) {
  // Of the trials that run, which may be a part of the experiment.
  std::set<int> numbers;
  for (const Trial& trial : plan.trials)
    if (trial.block > 0) numbers.insert(trial.block);
  const std::size_t blocks = std::max<std::size_t>(1, numbers.size());
  const auto unavailable = std::count_if(plan.trials.begin(), plan.trials.end(),
                                         [](const Trial& trial) { return !trial.unavailable.empty(); });
  std::string text = fmt::format("{}: {} trial{} in {} block{}", plan.config.name, plan.trials.size(),
                                 plan.trials.size() == 1 ? "" : "s", blocks, blocks == 1 ? "" : "s");
  const auto brackets = std::count_if(plan.trials.begin(), plan.trials.end(), [](const Trial& trial) { return trial.bracket > 0; });
  if (brackets > 0) text += fmt::format(", {} of them extra runs of the baseline", brackets);
  const auto controls = std::count_if(plan.trials.begin(), plan.trials.end(), [](const Trial& trial) { return trial.control && !trial.reference; });
  if (controls > 0) text += fmt::format(", {} of them control{} of exact rows", controls, controls == 1 ? "" : "s");
  const auto references = std::count_if(plan.trials.begin(), plan.trials.end(), [](const Trial& trial) { return trial.reference; });
  if (references > 0) text += fmt::format(", {} of them references of exact rows", references);
  const auto rehearsals = std::count_if(plan.trials.begin(), plan.trials.end(), [](const Trial& trial) { return trial.rehearsal; });
  if (rehearsals > 0) text += fmt::format(", {} of them rehearsal{} of rows on one device", rehearsals, rehearsals == 1 ? "" : "s");
  if (unavailable > 0) text += fmt::format(", {} of them unavailable", unavailable);
  text += fmt::format("; about {} (rough: guessed from the network's arithmetic)\n",
                      duration(estimate_seconds(plan.trials, plan.data)));
  if (plan.config.cut_down_for_cpu) text += "reduced by `when_cpu:` because no GPU is used\n";
  text += data_line(plan) + "\n" + axes_line(plan) + missing_data_warning(plan);
  for (const std::string& warning : plan.warnings) text += "warning: " + warning + "\n";

  std::vector<TextRow> rows = {
      {"order", "trial", "block", "strategy", "devices", "batch", "variant", "seed", "about"}};
  const bool has_networks = !plan.config.models.empty();
  if (has_networks) rows[0].insert(rows[0].begin() + kNetworkColumn, "network");
  for (std::size_t i = 0; i < plan.trials.size(); ++i) {
    const Trial& trial = plan.trials[i];
    std::string devices = fmt::format("{}:{}", to_string(trial.device_kind), devices_number(trial));
    if (trial.ranks_per_device > 1) devices += fmt::format(" x {}", trial.ranks_per_device);
    rows.push_back(
        {std::to_string(i + 1), std::to_string(trial.number), trial.control       ? "control"
         : trial.reference   ? "reference"
         : trial.rehearsal   ? fmt::format("rehearsal of rank {}", trial.rehearsed_rank)
         : trial.bracket > 0 ? "bracket"
                             : std::to_string(trial.block),
         trial.strategy.label,
         devices, std::to_string(trial.global_batch), trial.variant.empty() ? "-" : trial.variant,
         std::to_string(trial.seed),
         trial.unavailable.empty() ? duration(estimate_seconds(trial, plan.data)) : "unavailable: " + trial.unavailable});
    if (has_networks) rows.back().insert(rows.back().begin() + kNetworkColumn, trial.config.model.name);
  }
  text += "\n";
  for (const std::string& line : text_table(rows, rows.front().size())) text += line + "\n";
  return text;
}

}  // namespace mgcompare
