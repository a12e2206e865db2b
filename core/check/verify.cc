#include "check/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>

#include "results/cause.h"
#include "modules/plugin_host.h"
#include "check/reference.h"
#include "modules/strategy_options.h"
#include "train/training.h"

namespace mgcompare {
namespace {

using Verdict = Finding::Verdict;

// 730 samples in batches of 50 are 15 steps an epoch, 230 samples are 5. The last batch has 30 samples. 3, 4 and 8 ranks
// have unequal shares of a batch.
constexpr std::size_t kBatch = 50;
constexpr std::size_t kQuickSamples = 230;
constexpr std::size_t kTestSamples = 20;
constexpr std::size_t kEpochs = 2;

// Rounding alone stays under these on smooth networks; a mean of unequal shares' means is a thousand times larger.
double limit_of(const std::string& optimizer) { return optimizer == "adam" ? 1e-4 : 1e-5; }

OptimizerConfig optimizer_of(const std::string& name, const OptimizerConfig& given) {
  OptimizerConfig config;
  config.weight_decay = given.weight_decay;
  config.decay_biases = given.decay_biases;
  config.kind = name == "momentum" ? "sgd" : name;
  config.learning_rate = name == "adam" ? 1e-3 : name == "adadelta" ? 1.0 : 0.05;
  config.momentum = name == "momentum" ? 0.9 : 0;
  return config;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    most = std::isfinite(difference) ? std::max(most, difference) : INFINITY;
  }
  return most;
}

class Verification {
 public:
  Verification(const Config& config, const Dataset& dataset, Platform& platform, const VerifyScope& scope,
               const std::function<void(const Finding&)>& tell)
      : config_(config), dataset_(dataset), platform_(platform), scope_(scope), tell_(tell),
        devices_(platform.devices().size()) {
    config_.epochs = kEpochs;
    config_.measure.warm_up_steps = 0;
    config_.schedule = {};
    config_.deterministic = true;  // free-running ranks in virtual time
    config_.checkpoint_epochs = 0;
    config_.target_accuracy = 0;
    const std::vector<LayerConfig>& layers = config.model.layers;
    normalises_ = std::any_of(layers.begin(), layers.end(), [](const auto& layer) { return layer.type == "batch_norm"; });
  }

  bool run() {
    planted();
    for (const StrategyConfig& strategy : strategies()) {
      for (const std::string& optimizer : scope_.optimizers) {
        optimizer_ = optimizer;
        try {
          check(strategy);
        } catch (...) {
          say(Verdict::failed, strategy.label, "runs", 1, cause_of(std::current_exception()).sentence);
        }
      }
    }
    return passed_;
  }

 private:
  void say(Verdict verdict, const std::string& strategy, const std::string& check, int ranks, const std::string& figure) {
    passed_ = passed_ && verdict != Verdict::failed;
    tell_({verdict, strategy, check, optimizer_, ranks, figure});
  }
  void judge(bool good, const std::string& strategy, const std::string& check, int ranks, const std::string& figure) {
    say(good ? Verdict::passed : Verdict::failed, strategy, check, ranks, figure);
  }

  // The config's rows, and every other plugin as it comes.
  std::vector<StrategyConfig> strategies() const {
    std::vector<StrategyConfig> all = config_.strategies;
    for (const PluginSummary& plugin : scope_.plugins) {
      const bool named = std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.name == plugin.name; });
      if (!named && plugin.problem.empty()) all.push_back({plugin.name, plugin.name, {}, {}});
    }
    return all;
  }

  std::string file_of(const StrategyConfig& strategy) const {
    for (const PluginSummary& plugin : scope_.plugins)
      if (plugin.name == strategy.name && plugin.problem.empty()) return plugin.file;
    throw Error("there is no plugin named " + strategy.name);
  }

  Trial trial_of(const StrategyConfig& strategy, int ranks) const {
    Trial trial;
    trial.strategy = strategy;
    trial.device_kind = scope_.device_kind;
    // Devices as far as they go, and several ranks on each beyond.
    trial.devices = static_cast<std::size_t>(ranks);
    while (trial.devices > std::max<std::size_t>(1, devices_) || static_cast<std::size_t>(ranks) % trial.devices != 0) --trial.devices;
    trial.ranks_per_device = static_cast<std::size_t>(ranks) / trial.devices;
    trial.global_batch = kBatch;
    trial.seed = config_.seeds.empty() ? 1 : config_.seeds[0];
    trial.config = config_;
    trial.config.optimizer = optimizer_of(optimizer_, config_.optimizer);
    return trial;
  }

  TrainingOutcome run(const MakeStrategy& make, const StrategyConfig& strategy, int ranks, bool average_pooling,
                      bool audit = false) const {
    Trial trial = trial_of(strategy, ranks);
    // relu has near-ties as max pooling has: where rounding decides on which side of zero a unit lies.
    if (average_pooling)
      for (LayerConfig& layer : trial.config.model.layers)
        if (layer.type == "relu") layer.type = "tanh";
    TrainingRequest request;
    request.trial = &trial;
    request.dataset = &dataset_;
    request.platform = &platform_;
    request.make = make;
    request.numerics.average_pooling = average_pooling;
    request.numerics.deterministic = true;
    request.evaluate = false;
    request.audit = audit;
    if (scope_.leave)
      request.leave = [&](const std::exception_ptr& cause) {
        tell_({Verdict::failed, strategy.label, "runs", optimizer_, ranks, cause_of(cause).sentence});
        scope_.leave();
      };
    return train(request);
  }

  // One rank on the global batch, or accumulating the shares of several; each computed once.
  const std::vector<float>& reference(std::size_t shares, bool average_pooling) {
    std::vector<float>& weights = references_[{optimizer_, shares, average_pooling}];
    if (weights.empty())
      weights = run([shares](Options&, const Facts&) { return make_reference(shares); }, {}, 1, average_pooling).weights[0];
    return weights;
  }

  Traits traits_of(const StrategyConfig& strategy, int ranks, StrategyOptions& options) const {
    const Trial trial = trial_of(strategy, ranks);
    return make_strategy(file_of(strategy), options, facts_of(trial, trial.config, scope_.samples))->traits();
  }

  // Options that the row has may not go with this rank count, or with a given order of ranks.
  bool skip(const StrategyConfig& strategy, int ranks, const StrategyOptions& options) {
    for (const OptionProblem& problem : options.problems()) {
      if (problem.warning) continue;
      say(Verdict::skipped, strategy.label, "cannot run so, option " + problem.key, ranks, problem.text);
      return true;
    }
    return false;
  }

  MakeStrategy maker(const StrategyConfig& strategy) const {
    return [file = file_of(strategy)](Options& options, const Facts& facts) { return make_strategy(file, options, facts); };
  }

  // A strategy that is wrong on purpose must be caught by the check that the others pass.
  void planted() {
    optimizer_ = scope_.optimizers.empty() ? "sgd" : scope_.optimizers[0];
    const TrainingOutcome outcome = run([](Options&, const Facts&) { return make_planted(); }, {}, 3, true);
    const double difference = largest_difference(outcome.weights[0], reference(1, true));
    judge(difference > limit_of(optimizer_), "planted", "a mean of unequal shares' means is caught", 3,
          fmt::format("differs by {:.1e}, over the limit of {:.0e}", difference, limit_of(optimizer_)));
  }

  void check(const StrategyConfig& strategy) {
    alone(strategy);
    for (const int ranks : scope_.ranks) {
      StrategyOptions options(strategy.options);
      const Traits traits = traits_of(strategy, ranks, options);
      if (skip(strategy, ranks, options)) continue;
      if (ranks < traits.least_ranks || ranks > traits.most_ranks) continue;
      const bool local_norm = normalises_ && config_.batch_norm == "local";
      if (traits.promise == Traits::Promise::exact && !local_norm) exact(strategy, traits, ranks);
      else approximate(strategy, traits, ranks);
    }
  }

  // An approximate strategy may have options that change the rule itself, a rate of its own say: those are printed. One
  // that updates on the host beside a GPU rounds otherwise than the GPU does, so there the network is smooth.
  void alone(const StrategyConfig& strategy) {
    StrategyOptions options(strategy.options);
    const Traits traits = traits_of(strategy, 1, options);
    if (traits.least_ranks > 1 || skip(strategy, 1, options)) return;
    const bool smooth = scope_.device_kind != DeviceKind::cpu;
    const TrainingOutcome outcome = run(maker(strategy), strategy, 1, smooth);
    const double difference = largest_difference(outcome.weights[0], reference(1, smooth));
    const bool judged = traits.promise == Traits::Promise::exact || strategy.options.empty();
    const bool good = difference < limit_of(optimizer_);
    say(!judged ? Verdict::printed : good ? Verdict::passed : Verdict::failed, strategy.label,
        "alone it equals one device", 1, difference == 0 ? "the same bits" : fmt::format("differs by {:.1e}", difference));
  }

  void exact(const StrategyConfig& strategy, const Traits& traits, int ranks) {
    const TrainingOutcome smooth = run(maker(strategy), strategy, ranks, true);
    const double difference = largest_difference(smooth.weights[0], reference(1, true));
    judge(difference < limit_of(optimizer_), strategy.label, "equals one device on the global batch (average pooling, tanh for relu)", ranks,
          fmt::format("differs by {:.1e} after {} steps, limit {:.0e}", difference, smooth.result.steps, limit_of(optimizer_)));

    const TrainingOutcome own = run(maker(strategy), strategy, ranks, false, true);
    // One rank that accumulates shares normalises each by itself.
    if (traits.in_rank_order && !normalises_ && scope_.device_kind == DeviceKind::cpu) {
      const double bits = largest_difference(own.weights[0], reference(static_cast<std::size_t>(ranks), false));
      judge(bits == 0, strategy.label, "equals one rank that accumulates the shares, to the bit", ranks,
            bits == 0 ? "the same bits" : fmt::format("differs by {:.1e}", bits));
    }
    const double drift = largest_difference(own.weights[0], reference(1, false));
    say(Verdict::printed, strategy.label, "drift from one device on the network as it is", ranks, fmt::format("{:.1e}", drift));
    common(strategy, traits, ranks, own);
  }

  void approximate(const StrategyConfig& strategy, const Traits& traits, int ranks) {
    const TrainingOutcome first = run(maker(strategy), strategy, ranks, false, true);
    const double drift = largest_difference(first.weights[0], reference(1, false));
    say(Verdict::printed, strategy.label, "distance from one device (it promises none)", ranks, fmt::format("{:.1e}", drift));
    const TrainingOutcome second = run(maker(strategy), strategy, ranks, false);
    judge(first.weights == second.weights, strategy.label, "the same seed gives the same bits", ranks,
          first.weights == second.weights ? "the same bits" : fmt::format("differs by {:.1e}", largest_difference(first.weights[0], second.weights[0])));
    if (traits.pace == Traits::Pace::free) conserved(strategy, ranks, first);
    common(strategy, traits, ranks, first);
  }

  void common(const StrategyConfig& strategy, const Traits& traits, int ranks, const TrainingOutcome& outcome) {
    if (traits.models == Traits::Models::one) {
      double most = 0;
      for (const std::vector<float>& weights : outcome.weights) most = std::max(most, largest_difference(weights, outcome.weights[0]));
      judge(most == 0, strategy.label, "all ranks settle on the same weights", ranks,
            most == 0 ? "the same bits" : fmt::format("differ by {:.1e}", most));
    }
    std::size_t missed = 0;
    for (const std::uint32_t times : outcome.times_seen) missed += times != 1;
    judge(missed == 0, strategy.label, "learns from each sample once an epoch", ranks,
          missed == 0 ? fmt::format("{} samples", outcome.times_seen.size()) : fmt::format("{} of {} samples are missed or repeated", missed, outcome.times_seen.size()));
  }

  // Ranks that push by themselves: the sum of what backward made is the sum of what was applied.
  void conserved(const StrategyConfig& strategy, int ranks, const TrainingOutcome& outcome) {
    double gap = 0, size = 0;
    for (std::size_t i = 0; i < outcome.pushed.size(); ++i) {
      gap += (outcome.pushed[i] - outcome.applied[i]) * (outcome.pushed[i] - outcome.applied[i]);
      size += outcome.pushed[i] * outcome.pushed[i];
    }
    const double relative = size == 0 ? 0 : std::sqrt(gap / size);
    // Options may drop gradients, correct them, or apply the mean of several.
    const bool good = relative < 1e-5;
    say(good ? Verdict::passed : strategy.options.empty() ? Verdict::failed : Verdict::printed, strategy.label,
        "what was pushed is what was applied", ranks,
          fmt::format("relative gap {:.1e} over {} updates", relative, outcome.result.updates));
  }

  struct ReferenceKey {
    std::string optimizer;
    std::size_t shares;
    bool average_pooling;
    auto operator<=>(const ReferenceKey&) const = default;
  };

  Config config_;
  const Dataset& dataset_;
  Platform& platform_;
  const VerifyScope& scope_;
  const std::function<void(const Finding&)>& tell_;
  std::size_t devices_;
  bool normalises_ = false;
  std::string optimizer_;
  std::map<ReferenceKey, std::vector<float>> references_;
  bool passed_ = true;
};

}  // namespace

VerifyScope quick_scope() {
  VerifyScope scope;
  scope.ranks = {3};
  scope.optimizers = {"momentum", "adam"};
  scope.samples = kQuickSamples;
  return scope;
}

DataConfig verify_data(const DataConfig& data, std::size_t samples) {
  DataConfig limited = data;
  limited.train_samples = samples;
  limited.test_samples = kTestSamples;
  limited.validation_samples = 0;
  return limited;
}

bool verify(const Config& config, const Dataset& dataset, Platform& platform, const VerifyScope& scope,
            const std::function<void(const Finding&)>& tell) {
  if (dataset.train.samples != scope.samples)
    throw Error("verify needs " + std::to_string(scope.samples) + " training samples; load the data with verify_data()");
  return Verification(config, dataset, platform, scope, tell).run();
}

}  // namespace mgcompare
