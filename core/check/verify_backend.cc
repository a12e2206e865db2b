#include "check/verify_backend.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "backends/backend_probe.h"
#include "check/reference.h"
#include "check/weight_difference.h"
#include "plan/backend_rows.h"
#include "plan/trait_texts.h"
#include "results/cause.h"
#include "train/backend_training.h"

namespace mgcompare {
namespace {

using Verdict = VerifyFinding::Verdict;

constexpr char kEquals[] = "equals one device after some steps in fp32 (average pooling, tanh for relu if it has them; no dropout)";
constexpr double kLeastDecay = 0.02;  // of a config with weight decay
constexpr char kEqualsLong[] = "equals one device after hundreds of steps in fp32 (average pooling, tanh for relu; no dropout)";
constexpr std::size_t kEpochs = 4;
constexpr std::size_t kSmallBatch = 4;  // of the long training: many steps of few samples

struct Length {
  std::size_t epochs, batch, steps;
};

class Check {
 public:
  Check(const BackendVerification& of, const VerifyListener& listener) : of_(of), listener_(listener) {}

  void run() {
    const StrategySummary summary = probe_backend({of_.manifest, of_.strategy, {}, of_.config.python}, of_.folder, of_.stop);
    if (const std::string& reason = summary.backend.unavailable; !reason.empty()) return report(Verdict::skipped, "", 1, "runs", reason);
    for (const OptionProblem& problem : summary.problems)
      return report(Verdict::failed, "", 1, "runs", fmt::format("option {}: {}", problem.key, problem.text));
    for (const std::string& optimizer : of_.scope.optimizers)
      for (const int devices : numbers_of_devices(summary.traits)) compare(summary, optimizer, devices, brief(), kEquals);
    // Where near-ties amplify rounding, a distance after so many steps says nothing.
    const std::string& first = of_.scope.optimizers.front();
    if (is_smooth(summary.backend)) compare(summary, first, *numbers_of_devices(summary.traits).rbegin(), many_steps(), kEqualsLong);
    for (const std::string& difference : summary.backend.differs) report(Verdict::printed, "", 0, "differs by design", difference);
  }

 private:
  void report(Verdict verdict, const std::string& optimizer, int devices, const std::string& check, const std::string& figure) {
    listener_.found({verdict, of_.strategy.label, check, optimizer, devices, figure});
  }

  Length brief() const { return {kEpochs, divided_up(of_.dataset.train.samples, kBackendSteps / kEpochs), kBackendSteps}; }

  Length many_steps() const {
    const std::size_t steps_per_epoch = divided_up(of_.dataset.train.samples, kSmallBatch), epochs = divided_up(kLongBackendSteps, steps_per_epoch);
    return {epochs, kSmallBatch, epochs * steps_per_epoch};
  }

  std::set<int> numbers_of_devices(const Traits& traits) const {
    const int most = std::min(traits.most_ranks, static_cast<int>(of_.platform.devices().size()));
    std::set<int> numbers;
    for (const int devices : of_.scope.ranks)
      if (traits.least_ranks <= devices && devices <= most) numbers.insert(devices);
    numbers.insert(std::max(1, traits.least_ranks));
    return numbers;
  }

  // As smooth as the backend's layers allow.
  Config config_with(const std::string& optimizer, const BackendSummary& backend) const {
    Config config = smooth_config(of_.config, optimizer);
    // So that it moves the weights by more than the limit within these steps.
    if (config.optimizer.weight_decay > 0) config.optimizer.weight_decay = std::max(config.optimizer.weight_decay, kLeastDecay);
    for (std::size_t i = 0; i < config.model.layers.size(); ++i)
      if (!has_layer(backend, config.model.layers[i])) config.model.layers[i].type = of_.config.model.layers[i].type;
    return config;
  }

  static bool has_layer(const BackendSummary& backend, const LayerConfig& layer) {
    return std::find(backend.layers.begin(), backend.layers.end(), to_string(layer.type)) != backend.layers.end();
  }

  bool is_smooth(const BackendSummary& backend) const {
    const Config config = smooth_config(of_.config, of_.scope.optimizers.front());
    return std::all_of(config.model.layers.begin(), config.model.layers.end(), [&](const LayerConfig& layer) { return has_layer(backend, layer); });
  }

  Trial trial_of(const std::string& optimizer, int devices, const BackendSummary& backend, const Length& length) const {
    Trial trial;
    trial.strategy = of_.strategy;
    trial.plugin_file = of_.manifest;
    trial.device_kind = of_.scope.device_kind;
    trial.devices = static_cast<std::size_t>(devices);
    trial.global_batch = length.batch;
    trial.seed = of_.scope.seed;
    trial.config = config_with(optimizer, backend);
    trial.config.epochs = length.epochs;
    trial.config.precision = Precision::fp32;
    trial.config.measure.warm_up_steps = 0;
    trial.config.measure.level = MeasureLevel::quick;
    trial.config.target_accuracy = 0;
    trial.config.evaluate = 1;
    // Without it several devices normalise their shares by themselves, which one device does not.
    if (devices > 1) trial.config.batch_norm = BatchNormPolicy::sync;
    return trial;
  }

  std::vector<float> reference(Trial trial, const Numerics& numerics) const {
    trial.devices = 1;
    trial.plugin_file.clear();
    trial.strategy.options.clear();
    TrainingRequest request;
    request.trial = &trial;
    request.dataset = &of_.dataset;
    request.platform = &of_.platform;
    request.numerics = numerics;
    request.make = [](Options&, const Facts&) { return make_reference(1); };
    request.stop = of_.stop;
    if (listener_.progress) request.report = listener_.progress;
    return train(request).weights.at(0);
  }

  void compare(const StrategySummary& summary, const std::string& optimizer, int devices, const Length& length, const char* check) {
    const Trial trial = trial_of(optimizer, devices, summary.backend, length);
    if (const std::string missing = missing_in_backend(summary, trial, trial.config); !missing.empty())
      return report(Verdict::skipped, optimizer, devices, check, missing);
    if (listener_.training) listener_.training(optimizer, devices);
    try {
      const Numerics numerics{.precision = Precision::fp32, .deterministic = true};
      std::vector<float> weights;
      LivePosition unwanted;
      const auto progress = listener_.progress ? listener_.progress : [](const Progress&) {};
      train_backend({trial, of_.dataset, of_.platform, numerics, of_.folder, progress, listener_.position != nullptr ? *listener_.position : unwanted,
                     of_.stop, nullptr, &weights});
      const double difference = largest_difference(reference(trial, numerics), weights);
      // Weights that are promised to be approximate may differ; the distance is printed.
      const Verdict beyond = summary.traits.promise == Traits::Promise::exact ? Verdict::failed : Verdict::printed;
      listener_.found({difference <= kBackendLimit ? Verdict::passed : beyond, of_.strategy.label, check, optimizer, devices,
                       difference_text(difference, kBackendLimit, length.steps), difference, kBackendLimit});
    } catch (const Interrupted&) {
      throw;
    } catch (...) {
      const Cause cause = cause_of(std::current_exception());
      report(cause.status == TrialStatus::unavailable ? Verdict::skipped : Verdict::failed, optimizer, devices, "runs", cause.sentence);
    }
  }

  const BackendVerification& of_;
  const VerifyListener& listener_;
};

}  // namespace

void verify_backend(const BackendVerification& of, const VerifyListener& listener) { Check(of, listener).run(); }

}  // namespace mgcompare
