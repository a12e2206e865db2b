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

// On smooth networks rounding stays below these limits. The error of the planted strategy is a thousand times larger.
double limit_of(const std::string& optimizer) { return optimizer == "adam" ? 1e-4 : 1e-5; }

OptimizerConfig optimizer_of(const std::string& name, const OptimizerConfig& given) {
  OptimizerConfig config;
  config.weight_decay = given.weight_decay;
  config.decay_biases = given.decay_biases;
  config.kind = name == "momentum" ? OptimizerKind::sgd : kind_named<OptimizerKind>(name);
  config.learning_rate = name == "adam" ? 1e-3 : name == "adadelta" ? 1.0 : 0.05;
  config.momentum = name == "momentum" ? 0.9 : 0;
  return config;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = std::isfinite(difference) ? std::max(largest, difference) : INFINITY;
  }
  return largest;
}

class Verification {
 public:
  Verification(const Config& config, const Dataset& dataset, Platform& platform, const VerifyScope& scope,
               const std::function<void(const Finding&)>& report)
      : config_(config), dataset_(dataset), platform_(platform), scope_(scope), report_(report),
        devices_(platform.devices().size()) {
    config_.epochs = kEpochs;
    config_.measure.warm_up_steps = 0;
    config_.schedule = {};
    config_.deterministic = true;  // free-running ranks in virtual time
    config_.checkpoint_epochs = 0;
    config_.target_accuracy = 0;
    const std::vector<LayerConfig>& layers = config.model.layers;
    normalises_ = std::any_of(layers.begin(), layers.end(), [](const auto& layer) { return layer.type == LayerType::batch_norm; });
  }

  bool run() {
    check_planted();
    for (const StrategyConfig& strategy : strategies()) {
      for (const std::string& optimizer : scope_.optimizers) {
        optimizer_ = optimizer;
        try {
          check(strategy);
        } catch (...) {
          add_finding(Verdict::failed, strategy.label, "runs", 1, cause_of(std::current_exception()).sentence);
        }
      }
    }
    return passed_;
  }

 private:
  void add_finding(Verdict verdict, const std::string& strategy, const std::string& check, int ranks, const std::string& figure) {
    passed_ = passed_ && verdict != Verdict::failed;
    report_({verdict, strategy, check, optimizer_, ranks, figure});
  }
  void judge(bool good, const std::string& strategy, const std::string& check, int ranks, const std::string& figure) {
    add_finding(good ? Verdict::passed : Verdict::failed, strategy, check, ranks, figure);
  }

  // The strategies of the config, and every other plugin with its default options.
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
    // As many devices as there are and as divide the ranks; several ranks on each if need be.
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
    // Like max pooling, relu has near-ties, where rounding decides on which side of zero a unit lies.
    if (average_pooling)
      for (LayerConfig& layer : trial.config.model.layers)
        if (layer.type == LayerType::relu) layer.type = LayerType::tanh;
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
        report_({Verdict::failed, strategy.label, "runs", optimizer_, ranks, cause_of(cause).sentence});
        scope_.leave();
      };
    return train(request);
  }

  // Weights of one rank on the global batch, or of one that accumulates several shares. Computed once each.
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

  // Reports options that do not apply to this number of ranks. Returns whether to skip the checks.
  bool skip(const StrategyConfig& strategy, int ranks, const StrategyOptions& options) {
    for (const OptionProblem& problem : options.problems()) {
      if (problem.warning) continue;
      add_finding(Verdict::skipped, strategy.label, "does not apply: option " + problem.key, ranks, problem.text);
      return true;
    }
    return false;
  }

  MakeStrategy maker(const StrategyConfig& strategy) const {
    return [file = file_of(strategy)](Options& options, const Facts& facts) { return make_strategy(file, options, facts); };
  }

  // The check that exact strategies pass must reject a strategy that is wrong on purpose.
  void check_planted() {
    optimizer_ = scope_.optimizers.empty() ? "sgd" : scope_.optimizers[0];
    const TrainingOutcome outcome = run([](Options&, const Facts&) { return make_planted(); }, {}, 3, true);
    const double difference = largest_difference(outcome.weights[0], reference(1, true));
    judge(difference > limit_of(optimizer_), "planted", "a mean of the means of unequal shares is detected", 3,
          fmt::format("differs by {:.1e}, over the limit of {:.0e}", difference, limit_of(optimizer_)));
  }

  void check(const StrategyConfig& strategy) {
    check_single_rank(strategy);
    for (const int ranks : scope_.ranks) {
      StrategyOptions options(strategy.options);
      const Traits traits = traits_of(strategy, ranks, options);
      if (skip(strategy, ranks, options)) continue;
      if (ranks < traits.least_ranks || ranks > traits.most_ranks) continue;
      const bool local_norm = normalises_ && config_.batch_norm == BatchNormPolicy::local;
      if (traits.promise == Traits::Promise::exact && !local_norm) check_exact(strategy, traits, ranks);
      else check_approximate(strategy, traits, ranks);
    }
  }

  // One rank must equal one device. Options of an approximate strategy may change the update rule (a learning rate of its
  // own, say); then the difference is only printed. A strategy that updates on the host rounds differently from a GPU, so on
  // GPUs the network is smooth.
  void check_single_rank(const StrategyConfig& strategy) {
    StrategyOptions options(strategy.options);
    const Traits traits = traits_of(strategy, 1, options);
    if (traits.least_ranks > 1 || skip(strategy, 1, options)) return;
    const bool smooth = scope_.device_kind != DeviceKind::cpu;
    const TrainingOutcome outcome = run(maker(strategy), strategy, 1, smooth);
    const double difference = largest_difference(outcome.weights[0], reference(1, smooth));
    const bool judged = traits.promise == Traits::Promise::exact || strategy.options.empty();
    const bool good = difference < limit_of(optimizer_);
    add_finding(!judged ? Verdict::printed : good ? Verdict::passed : Verdict::failed, strategy.label,
        "one rank equals one device", 1, difference == 0 ? "the same bits" : fmt::format("differs by {:.1e}", difference));
  }

  void check_exact(const StrategyConfig& strategy, const Traits& traits, int ranks) {
    const TrainingOutcome smooth = run(maker(strategy), strategy, ranks, true);
    const double difference = largest_difference(smooth.weights[0], reference(1, true));
    judge(difference < limit_of(optimizer_), strategy.label, "equals one device on the global batch (average pooling, tanh for relu)", ranks,
          fmt::format("differs by {:.1e} after {} steps, limit {:.0e}", difference, smooth.result.steps, limit_of(optimizer_)));

    const TrainingOutcome own = run(maker(strategy), strategy, ranks, false, true);
    // With batch normalisation the reference normalises each share by itself, so it is no reference.
    if (traits.in_rank_order && !normalises_ && scope_.device_kind == DeviceKind::cpu) {
      const double bits = largest_difference(own.weights[0], reference(static_cast<std::size_t>(ranks), false));
      judge(bits == 0, strategy.label, "equals one rank that accumulates the shares, bit for bit", ranks,
            bits == 0 ? "the same bits" : fmt::format("differs by {:.1e}", bits));
    }
    const double drift = largest_difference(own.weights[0], reference(1, false));
    add_finding(Verdict::printed, strategy.label, "drift from one device on the unchanged network", ranks, fmt::format("{:.1e}", drift));
    check_settled(strategy, traits, ranks, own);
  }

  void check_approximate(const StrategyConfig& strategy, const Traits& traits, int ranks) {
    const TrainingOutcome first = run(maker(strategy), strategy, ranks, false, true);
    const double drift = largest_difference(first.weights[0], reference(1, false));
    add_finding(Verdict::printed, strategy.label, "distance from one device (no limit)", ranks, fmt::format("{:.1e}", drift));
    const TrainingOutcome second = run(maker(strategy), strategy, ranks, false);
    judge(first.weights == second.weights, strategy.label, "the same seed gives the same bits", ranks,
          first.weights == second.weights ? "the same bits" : fmt::format("differs by {:.1e}", largest_difference(first.weights[0], second.weights[0])));
    if (traits.pace == Traits::Pace::free) check_conservation(strategy, ranks, first);
    check_settled(strategy, traits, ranks, first);
  }

  void check_settled(const StrategyConfig& strategy, const Traits& traits, int ranks, const TrainingOutcome& outcome) {
    if (traits.models == Traits::Models::one) {
      double largest = 0;
      for (const std::vector<float>& weights : outcome.weights) largest = std::max(largest, largest_difference(weights, outcome.weights[0]));
      judge(largest == 0, strategy.label, "all ranks settle on the same weights", ranks,
            largest == 0 ? "the same bits" : fmt::format("differ by {:.1e}", largest));
    }
    std::size_t missed = 0;
    for (const std::uint32_t times : outcome.times_seen) missed += times != 1;
    judge(missed == 0, strategy.label, "trains on each sample once per epoch", ranks,
          missed == 0 ? fmt::format("{} samples", outcome.times_seen.size()) : fmt::format("{} of {} samples missed or repeated", missed, outcome.times_seen.size()));
  }

  // Free-running ranks: the sum of the gradients computed must equal the sum of the gradients applied.
  void check_conservation(const StrategyConfig& strategy, int ranks, const TrainingOutcome& outcome) {
    double gap = 0, size = 0;
    for (std::size_t i = 0; i < outcome.pushed.size(); ++i) {
      gap += (outcome.pushed[i] - outcome.applied[i]) * (outcome.pushed[i] - outcome.applied[i]);
      size += outcome.pushed[i] * outcome.pushed[i];
    }
    const double relative = size == 0 ? 0 : std::sqrt(gap / size);
    // With options the result is only printed: they may drop or correct gradients, or apply the mean of several.
    const bool good = relative < 1e-5;
    add_finding(good ? Verdict::passed : strategy.options.empty() ? Verdict::failed : Verdict::printed, strategy.label,
        "applied gradients equal computed gradients", ranks,
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
  const std::function<void(const Finding&)>& report_;
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
            const std::function<void(const Finding&)>& report) {
  if (dataset.train.samples != scope.samples)
    throw Error("verify needs " + std::to_string(scope.samples) + " training samples; load the data with verify_data()");
  return Verification(config, dataset, platform, scope, report).run();
}

}  // namespace mgcompare
