#include "check/trainings.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/descendants.h"
#include "discovery/plugin_image.h"
#include "measure/processor_time.h"
#include "modules/plugin_host.h"
#include "results/cause.h"

namespace mgcompare {
namespace {

// The learning rate rises in the first half epoch and falls by this factor twice: little, so that faults that begin late still
// move the weights. With other optimisers than the first one it falls to a tenth the second time, as the schedules of experiments do.
constexpr double kRateFactor = 0.9, kRisingEpochs = 0.5;
constexpr std::size_t kFallsToATenth = 22;  // 0.9 to the power of 22 is 0.098

constexpr double kMomentum = 0.9;  // of a config without one
constexpr double kMostDecay = 0.1;  // of the weights in a step: more amplifies rounding
constexpr double kSmoothEpsilon = 1e-3, kSmoothVariance = 1e-2;
constexpr std::size_t kWarmUpSteps = 3;  // those that measure the steps follow
constexpr std::uint32_t kBlankSample = 0;

OptimizerConfig optimizer_of(const std::string& name, const OptimizerConfig& given) {
  const OptimizerKind kind = name == "momentum" ? OptimizerKind::sgd : kind_named<OptimizerKind>(name);
  OptimizerConfig config = given.kind == kind ? given : OptimizerConfig{.kind = kind};
  config.weight_decay = given.weight_decay;
  config.decay_biases = given.decay_biases;
  // At larger rates training amplifies rounding beyond the limits within these numbers of steps.
  config.learning_rate = name == "adam" ? 1e-3 : name == "adadelta" ? 1.0 : name == "momentum" || name == "adagrad" ? 0.01 : 0.05;
  if (config.weight_decay > 0) config.learning_rate = std::min(config.learning_rate, kMostDecay / config.weight_decay);
  config.momentum = name != "momentum" ? 0 : given.kind == kind && given.momentum > 0 ? given.momentum : kMomentum;
  config.nesterov = given.kind == kind && given.nesterov && name == "momentum";
  return config;
}

// Like max pooling, relu has near-ties, where rounding decides on which side of zero a unit lies. Batch normalisation divides
// by the deviation of the samples, which is rounding alone in a batch of one sample. Adam and Adagrad divide gradients by their
// size: where the true gradient is 0, as for a bias before batch normalisation, they would turn rounding into full steps.
void smoothen(Config& config) {
  for (LayerConfig& layer : config.model.layers) {
    if (layer.type == LayerType::relu) layer.type = LayerType::tanh;
    if (layer.type == LayerType::batch_norm) layer.epsilon = std::max(layer.epsilon, kSmoothVariance);
  }
  if (config.optimizer.kind == OptimizerKind::adam || config.optimizer.kind == OptimizerKind::adagrad)
    config.optimizer.epsilon = std::max(config.optimizer.epsilon, kSmoothEpsilon);
}

Dataset with_blank(Dataset dataset) {
  std::vector<std::uint8_t> values(dataset.train.values.begin(), dataset.train.values.end());
  const std::size_t size = values.size() / dataset.train.samples;
  std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(kBlankSample * size), size, std::uint8_t{0});
  dataset.train.values = SharedBytes(std::move(values));
  return dataset;
}

double bytes_per_step(const Observation& seen) {
  double bytes = 0;
  std::size_t steps = 0;
  for (const Observation::OfRank& rank : seen.ranks) {
    bytes += rank.bytes;
    steps += rank.steps;
  }
  return steps == 0 ? 0 : bytes / static_cast<double>(steps);
}

}  // namespace

Config smooth_config(Config config, const std::string& optimizer) {
  config.optimizer = optimizer_of(optimizer, config.optimizer);
  smoothen(config);
  for (LayerConfig& layer : config.model.layers) {
    if (layer.type == LayerType::max_pool) layer.type = LayerType::average_pool;
    if (layer.type == LayerType::dropout) layer.rate = 0;
  }
  return config;
}

Trainings::Trainings(const Config& config, const Dataset& dataset, Platform& platform, const VerifyScope& scope,
                     std::string folder)
    : config_(config), dataset_(dataset), platform_(platform), scope_(scope), folder_(std::move(folder)),
      devices_(std::max<std::size_t>(1, platform.devices().size())) {
  if (dataset.train.samples != scope.samples)
    throw Error("verify needs " + std::to_string(scope.samples) + " training samples, not " + std::to_string(dataset.train.samples));
  config_.measure.warm_up_steps = 0;
  config_.measure.level = MeasureLevel::quick;  // speed does not count
  config_.deterministic = true;  // free-running ranks in virtual time
  config_.target_accuracy = 0;
  config_.evaluate = 1;
  if (on_cpu() && !normalises()) blanked_ = with_blank(dataset);
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

std::string Trainings::copy_of(const StrategyConfig& strategy) const {
  // By its own name: files of several folders may have the same one.
  const std::string copy = fmt::format("{}/strategy_{}.so", folder_, strategy.name);
  if (std::filesystem::exists(copy)) return copy;
  std::ofstream(copy, std::ios::binary) << with_own_variables(read_plugin_bytes(file_of(strategy)));
  return copy;
}

Trial Trainings::trial_of(const TrainingCase& of) const {
  const auto ranks = static_cast<std::size_t>(of.ranks);
  const Extent extent = extent_of(scope_, of.optimizer, of.is_brief);
  Trial trial;
  trial.strategy = of.strategy;
  trial.device_kind = scope_.device_kind;
  // As many devices as there are and as divide the ranks; several ranks on each if need be.
  trial.devices = ranks;
  while (trial.devices > devices_ || ranks % trial.devices != 0) --trial.devices;
  if (of.hosts > 1) trial.devices = trial.hosts = of.hosts;
  trial.ranks_per_device = ranks / trial.devices;
  trial.global_batch = extent.batch;
  trial.seed = scope_.seed + (of.has_other_seed ? 1 : 0);
  trial.config = config_;
  trial.config.epochs = of.all_epochs > 0 ? of.all_epochs : extent.epochs;
  trial.config.deterministic = !of.in_real_time;
  trial.config.checkpoint_epochs = of.saves || of.resumes ? scope_.resumes_late ? extent.checkpoints[0] : 1 : 0;
  trial.config.measure.warm_up_steps = of.warms_up ? kWarmUpSteps : 0;
  trial.config.optimizer = optimizer_of(of.optimizer, config_.optimizer);
  if (scope_.has_own_schedule) {
    trial.config.epochs = config_.epochs;
    trial.config.optimizer.learning_rate = config_.optimizer.learning_rate;
  } else {
    trial.config.schedule = {.kind = ScheduleKind::step, .factor = kRateFactor, .warm_up_epochs = kRisingEpochs};
    const auto change_rate = [&](std::size_t step, std::size_t times) {
      const std::size_t sample = step % extent.steps_per_epoch * extent.batch;
      const double at = static_cast<double>(step / extent.steps_per_epoch) + static_cast<double>(sample) / static_cast<double>(scope_.samples);
      trial.config.schedule.at.insert(trial.config.schedule.at.end(), times, at);
    };
    change_rate(extent.rate_changes[0], 1);
    change_rate(extent.rate_changes[1], of.optimizer == scope_.optimizers.front() ? 1 : kFallsToATenth);
  }
  if (of.smooth) smoothen(trial.config);
  if (of.marks != nullptr) {
    trial.config.model = of.marks->model();
    trial.config.data.prepare = {};
    trial.config.optimizer.weight_decay = 0;
  }
  trial.control = of.control == 1;
  if (of.shares_norm) trial.config.batch_norm = BatchNormPolicy::sync;
  return trial;
}

Trial Trainings::planned_trial_of(const TrainingCase& of, const Traits& traits) const {
  Trial trial = trial_of(of);
  trial.traits = texts_of(traits);
  trial.planned_steps = extent_of(scope_, of.optimizer, of.is_brief).steps_per_epoch;
  return trial;
}

NetworkSpec Trainings::spec_of(const TrainingCase& of) const {
  const Config config = trial_of(of).config;
  return make_spec(config.model, data_of(of).spec, config.optimizer.decay_biases);
}

const Dataset& Trainings::data_of(const TrainingCase& of) const {
  return of.marks != nullptr ? of.marks->data() : of.fitted && blanked_ ? *blanked_ : dataset_;
}

std::size_t Trainings::parameters() const { return spec_of({.optimizer = "sgd"}).parameters; }

TrainingRequest Trainings::request_of(const TrainingCase& of, const Trial& trial) {
  TrainingRequest request;
  request.trial = &trial;
  request.dataset = &data_of(of);
  request.platform = &platform_;
  request.initial_weights = of.marks != nullptr ? &of.marks->initial_weights() : &initial(of);
  request.numerics.average_pooling = of.smooth;
  request.numerics.deterministic = true;
  request.numerics.kernels = trial.config.kernels;
  request.evaluate = false;
  if (of.epochs > 0) request.most_steps = of.epochs * extent_of(scope_, of.optimizer, of.is_brief).steps_per_epoch;
  request.audit = of.audit || (sees_steps(of) && !on_cpu());
  if (listener_.progress) request.report = listener_.progress;
  request.position = listener_.position;
  return request;
}

Traits Trainings::traits(const TrainingCase& of, StrategyOptions& options) {
  if (listener_.position != nullptr) listener_.position->set({});
  const Trial trial = trial_of(of);
  const Traits traits = make_strategy(file_of(of.strategy), options, facts_of(trial, trial.config, scope_.samples))->traits();
  expect_possible_traits(of.strategy.name, traits);
  const std::string key = fmt::format("{}/{}/{}/{}/{}/{}/{}/{}", of.strategy.label, of.optimizer, of.ranks, of.hosts, of.is_brief, of.in_real_time, of.all_epochs,
                                      of.marks != nullptr);
  expect_same_traits(of.strategy.name, traits_.try_emplace(key, texts_of(traits)).first->second, traits);
  return traits;
}

bool Trainings::sees_steps(const TrainingCase& of) const {
  return on_cpu() || of.audit || of.settles || of.resumes || of.alteration || of.marks != nullptr;
}

Observation Trainings::new_observation(const TrainingCase& of, bool is_lockstep) const {
  Observation seen(static_cast<std::size_t>(of.ranks));
  if (of.marks != nullptr) seen.even = std::make_unique<EvenSteps>(seen.ranks.size());
  const NetworkSpec spec = spec_of(of);
  if (spec.buffers == 0 || !sees_steps(of)) return seen;
  std::vector<double> momentum(spec.buffers);
  for (const LayerSpec& layer : spec.layers)
    std::fill_n(momentum.begin() + static_cast<std::ptrdiff_t>(layer.buffers.begin), layer.buffers.size(), layer.config.momentum);
  seen.buffers = std::make_unique<BufferWatch>(seen.ranks.size(), is_lockstep, momentum);
  return seen;
}

// In lockstep it ends after the epoch. Free-running ranks have no limit of steps: they are interrupted in the next one.
void Trainings::run_part(TrainingRequest request, std::size_t epochs, bool free_pace, std::size_t hosts) {
  const std::string& file = request.files.checkpoint;
  try {
    if (free_pace) {
      request.stop = [&] { return std::filesystem::exists(file); };
      request.leave = {};
    } else {
      request.most_steps = epochs * request.trial->planned_steps;
    }
    train_on(hosts, request);
  } catch (const Interrupted&) {
  }
  if (!std::filesystem::exists(file)) throw Error("no checkpoint was written after epoch " + std::to_string(epochs));
}

Disturbance Trainings::disturbance_of(const TrainingCase& of) const {
  Disturbance disturbance{.seed = scope_.seed, .samples = &dataset_.train};
  if (of.fitted && blanked_) disturbance.blank = kBlankSample;
  return disturbance;
}

std::vector<std::size_t> Trainings::interruptions_of(const TrainingCase& of, bool is_lockstep) const {
  if (!of.resumes) return {};
  const Extent extent = extent_of(scope_, of.optimizer, of.is_brief);
  if (scope_.resumes_late) return {extent.checkpoints[0]};
  if (!is_lockstep) return {1};
  return {std::begin(extent.checkpoints), std::end(extent.checkpoints)};
}

ObservedTraining Trainings::run(const TrainingCase& of) {
  if (listener_.training) listener_.training(of.optimizer, of.ranks);
  StrategyOptions options(of.strategy.options);
  const Traits traits = this->traits(of, options);
  const bool is_lockstep = traits.pace == Traits::Pace::lockstep;
  const Trial trial = planned_trial_of(of, traits);
  ObservedTraining training{{}, new_observation(of, is_lockstep)};
  Disturbance disturbance = disturbance_of(of);
  disturbance.settles = of.settles;
  disturbance.alteration = of.alteration;
  disturbance.marks = of.marks;
  disturbance.settled = of.settled;
  disturbance.limit = of.limit;
  if (of.settles) disturbance.unsettled = extent_of(scope_, of.optimizer, of.is_brief).unsettled;
  TrainingRequest request = request_of(of, trial);
  // request_of() may have trained, too. Threads that have been joined are counted for another moment.
  footprint_ = footprint_ ? settled_footprint(*footprint_) : footprint();
  const Footprint before = *footprint_;
  if (!is_lockstep) request.most_steps = 0;
  std::string file = file_of(of.strategy);
  std::atomic<int> made = 0;
  request.make = [&](Options& options, const Facts& facts) {
    std::unique_ptr<Strategy> strategy = make_strategy(file, options, facts);
    // The first is asked for its traits, and the next of each rank are those of the warm-up.
    return of.warms_up && made++ <= of.ranks ? std::move(strategy) : observed(std::move(strategy), disturbance, training.seen);
  };
  if (of.saves) request.files = {.checkpoint = folder_ + "/saved"};
  if (listener_.leave)
    request.leave = [&](const std::exception_ptr& cause) {
      listener_.found({VerifyFinding::Verdict::failed, of.strategy.label, "runs", of.optimizer, of.ranks, cause_of(cause).sentence});
      listener_.leave();
    };
  // Processor time of all but this thread, the program's own ones and, at the end, the ranks.
  const auto others = [] { return process_seconds() + descendants_seconds() - thread_seconds() - service_seconds(); };
  double begin = others();
  if (of.resumes) {
    request.files = {.checkpoint = folder_ + "/checkpoint"};
    std::filesystem::remove(request.files.checkpoint);
  }
  std::optional<Observation> earlier;  // than the last checkpoint, in lockstep
  const auto expect_resumed = [&] {
    if (training.seen.ranks[0].first_epoch < disturbance.first_epoch) throw Error("its checkpoint was not resumed");
  };
  for (const std::size_t checkpoint : interruptions_of(of, is_lockstep)) {
    run_part(request, checkpoint, !is_lockstep);
    if (request.files.resume) expect_resumed();
    request.files.resume = true;
    file = copy_of(of.strategy);
    // The ranks of an interrupted training at free pace do not end by themselves, with their time.
    if (!is_lockstep) begin = others();
    for (const Observation::OfRank& rank : training.seen.ranks) {
      if (!is_lockstep) break;
      begin += rank.processor_seconds;
      usage_.ranks_seconds += rank.processor_seconds;
    }
    disturbance.first_epoch = checkpoint;
    if (is_lockstep && earlier) earlier->append(std::move(training.seen));
    else if (is_lockstep) earlier = std::move(training.seen);
    training.seen = new_observation(of, is_lockstep);
    made = 0;
  }
  training.outcome = train(request);
  if (const std::string& changed = training.outcome.result.changed_settings; usage_.left.empty() && !changed.empty()) usage_.left = "changed " + changed;
  add_usage(training.seen, others() - begin, before);
  if (of.resumes) expect_resumed();
  if (earlier) {
    earlier->append(std::move(training.seen));
    training.seen = std::move(*earlier);
  }
  training.bytes_per_step = sees_steps(of) ? bytes_per_step(training.seen) : training.outcome.result.bytes_per_step;
  return training;
}

ObservedTraining Trainings::run(const TrainingCase& of, const std::function<std::unique_ptr<Strategy>()>& make, bool keeps_weights) {
  if (listener_.training) listener_.training(of.optimizer, of.ranks);
  const Trial trial = trial_of(of);
  TrainingRequest request = request_of(of, trial);
  std::vector<float> nudged;
  if (of.control > 1) {
    nudged = nudged_weights(*request.initial_weights, static_cast<std::uint64_t>(of.control));
    request.initial_weights = &nudged;
  }
  ObservedTraining training{{}, Observation(static_cast<std::size_t>(of.ranks))};
  Disturbance disturbance = disturbance_of(of);
  disturbance.keeps_weights = keeps_weights;
  disturbance.alteration = of.alteration;
  request.make = [&](Options&, const Facts&) {
    return keeps_weights || disturbance.blank || disturbance.alteration ? observed(make(), disturbance, training.seen) : make();
  };
  training.outcome = train(request);
  return training;
}

void Trainings::add_usage(const Observation& seen, double others, const Footprint& before) {
  for (const Observation::OfRank& rank : seen.ranks) {
    usage_.ranks_seconds += rank.processor_seconds;
    others -= rank.processor_seconds;
  }
  usage_.other_seconds += std::max(0.0, others);
  Footprint after = settled_footprint(before);
  footprint_ = after;
  // The libraries of GPUs have threads and descriptors of their own.
  if (!on_cpu()) after.threads = before.threads, after.descriptors = before.descriptors;
  if (usage_.left.empty()) usage_.left = difference(before, after);
}

Usage Trainings::take_usage() { return std::exchange(usage_, {}); }

}  // namespace mgcompare
