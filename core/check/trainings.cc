#include "check/trainings.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "check/reference.h"
#include "measure/processor_time.h"
#include "measure/thread_count.h"
#include "modules/plugin_host.h"
#include "results/cause.h"

namespace mgcompare {
namespace {

// The kernel may still list a thread for a moment after it was joined.
constexpr int kLooksForThreads = 50;
constexpr std::chrono::milliseconds kBetweenLooks{4};

OptimizerConfig optimizer_of(const std::string& name, const OptimizerConfig& given) {
  OptimizerConfig config;
  config.weight_decay = given.weight_decay;
  config.decay_biases = given.decay_biases;
  config.kind = name == "momentum" ? OptimizerKind::sgd : kind_named<OptimizerKind>(name);
  // At larger rates training amplifies rounding beyond the limits within these numbers of steps.
  config.learning_rate = name == "adam" ? 1e-3 : name == "adadelta" ? 1.0 : name == "momentum" ? 0.01 : 0.05;
  config.momentum = name == "momentum" ? 0.9 : 0;
  return config;
}

// Like max pooling, relu has near-ties, where rounding decides on which side of zero a unit lies.
void smoothen(ModelConfig& model) {
  for (LayerConfig& layer : model.layers)
    if (layer.type == LayerType::relu) layer.type = LayerType::tanh;
}

}  // namespace

Trainings::Trainings(const Config& config, const Dataset& dataset, Platform& platform, const VerifyScope& scope,
                     std::string folder)
    : config_(config), dataset_(dataset), platform_(platform), scope_(scope), folder_(std::move(folder)),
      devices_(std::max<std::size_t>(1, platform.devices().size())) {
  if (dataset.train.samples != scope.samples)
    throw Error("verify needs " + std::to_string(scope.samples) + " training samples; load the data with verify_data()");
  config_.measure.warm_up_steps = 0;
  config_.schedule = {};
  config_.deterministic = true;  // free-running ranks in virtual time
  config_.target_accuracy = 0;
}

bool Trainings::normalises() const {
  const std::vector<LayerConfig>& layers = config_.model.layers;
  return std::any_of(layers.begin(), layers.end(), [](const LayerConfig& layer) { return layer.type == LayerType::batch_norm; });
}

std::string Trainings::file_of(const StrategyConfig& strategy) const {
  for (const PluginSummary& plugin : scope_.plugins)
    if (plugin.name == strategy.name && plugin.problem.empty()) return plugin.file;
  throw Error("there is no plugin named " + strategy.name);
}

Trial Trainings::trial_of(const TrainingCase& of) const {
  const auto ranks = static_cast<std::size_t>(of.ranks);
  const Extent extent = extent_of(scope_, of.optimizer);
  Trial trial;
  trial.strategy = of.strategy;
  trial.device_kind = scope_.device_kind;
  // As many devices as there are and as divide the ranks; several ranks on each if need be.
  trial.devices = ranks;
  while (trial.devices > devices_ || ranks % trial.devices != 0) --trial.devices;
  trial.ranks_per_device = ranks / trial.devices;
  trial.global_batch = extent.batch;
  trial.seed = scope_.seed;
  trial.config = config_;
  trial.config.epochs = extent.epochs;
  trial.config.checkpoint_epochs = of.resumes ? extent.checkpoint : 0;
  trial.config.optimizer = optimizer_of(of.optimizer, config_.optimizer);
  if (of.smooth) smoothen(trial.config.model);
  return trial;
}

TrainingRequest Trainings::request_of(const TrainingCase& of, const Trial& trial) {
  TrainingRequest request;
  request.trial = &trial;
  request.dataset = &dataset_;
  request.platform = &platform_;
  request.numerics.average_pooling = of.smooth;
  request.numerics.deterministic = true;
  request.evaluate = false;
  // Steps that are captured for replays cannot be disturbed. An audit prevents the capture.
  request.audit = of.audit || ((of.settles || of.resumes) && scope_.device_kind != DeviceKind::cpu);
  if (listener_.progress) request.report = listener_.progress;
  request.position = listener_.position;
  return request;
}

Traits Trainings::traits(const TrainingCase& of, StrategyOptions& options) const {
  if (listener_.position != nullptr) listener_.position->set({});
  const Trial trial = trial_of(of);
  return make_strategy(file_of(of.strategy), options, facts_of(trial, trial.config, scope_.samples))->traits();
}

// In lockstep it ends after the epoch. Free-running ranks have no limit of steps: they are interrupted in the next one.
void Trainings::run_first_part(const TrainingCase& of, TrainingRequest request, bool free_pace) {
  const Extent extent = extent_of(scope_, of.optimizer);
  const std::string& file = request.files.checkpoint;
  std::filesystem::remove(file);
  request.files.resume = false;
  try {
    if (free_pace) {
      request.stop = [&] { return std::filesystem::exists(file); };
      request.leave = {};
    } else {
      request.most_steps = extent.checkpoint * extent.steps_per_epoch;
    }
    train(request);
  } catch (const Interrupted&) {
  }
  if (!std::filesystem::exists(file)) throw Error("no checkpoint was written after epoch " + std::to_string(extent.checkpoint));
}

ObservedTraining Trainings::run(const TrainingCase& of) {
  if (listener_.training) listener_.training(of.optimizer, of.ranks);
  const Trial trial = trial_of(of);
  const std::size_t before = thread_count();
  ObservedTraining training{{}, Observation(trial.ranks())};
  Disturbance disturbance{.seed = scope_.seed, .samples = scope_.samples, .settles = of.settles, .altered_rank = of.altered_rank};
  if (of.settles) disturbance.unsettled = extent_of(scope_, of.optimizer).unsettled;
  TrainingRequest request = request_of(of, trial);
  request.make = [&, file = file_of(of.strategy)](Options& options, const Facts& facts) {
    return observed(make_strategy(file, options, facts), disturbance, training.seen);
  };
  if (listener_.leave)
    request.leave = [&](const std::exception_ptr& cause) {
      listener_.found({Finding::Verdict::failed, of.strategy.label, "runs", of.optimizer, of.ranks, cause_of(cause).sentence});
      listener_.leave();
    };
  if (of.resumes) {
    request.files = {.checkpoint = folder_ + "/checkpoint", .resume = true};
    StrategyOptions options(of.strategy.options);
    run_first_part(of, request, traits(of, options).pace == Traits::Pace::free);
    disturbance.first_epoch = trial.config.checkpoint_epochs;
    training.seen = Observation(trial.ranks());
  }
  const double process = process_seconds(), own = thread_seconds();
  training.outcome = train(request);
  count_threads(training.seen, process_seconds() - process - (thread_seconds() - own), before);
  if (of.resumes && training.seen.ranks[0].first_epoch < disturbance.first_epoch) throw Error("its checkpoint was not resumed");
  return training;
}

TrainingOutcome Trainings::run(const TrainingCase& of, const std::function<std::unique_ptr<Strategy>()>& make) {
  if (listener_.training) listener_.training(of.optimizer, of.ranks);
  const Trial trial = trial_of(of);
  TrainingRequest request = request_of(of, trial);
  request.make = [&](Options&, const Facts&) { return make(); };
  return train(request);
}

const std::vector<float>& Trainings::reference(const std::string& optimizer, std::size_t shares, bool smooth) {
  std::vector<float>& weights = references_[{optimizer, shares, smooth}];
  if (weights.empty()) {
    const TrainingCase alone{.optimizer = optimizer, .smooth = smooth};
    weights = run(alone, [shares] { return make_reference(shares); }).weights[0];
  }
  return weights;
}

void Trainings::count_threads(const Observation& seen, double others, std::size_t before) {
  for (const Observation::OfRank& rank : seen.ranks) {
    usage_.ranks_seconds += rank.processor_seconds;
    others -= rank.processor_seconds;
  }
  usage_.other_seconds += std::max(0.0, others);
  std::size_t now = thread_count();
  for (int looks = 0; now > before && looks < kLooksForThreads; ++looks) {
    std::this_thread::sleep_for(kBetweenLooks);
    now = thread_count();
  }
  usage_.left += now > before ? now - before : 0;
}

ThreadUsage Trainings::take_usage() { return std::exchange(usage_, {}); }

}  // namespace mgcompare
