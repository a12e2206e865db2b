#include "check/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>

#include "base/temporary_folder.h"
#include "check/reference.h"
#include "results/cause.h"

namespace mgcompare {
namespace {

using Verdict = Finding::Verdict;

constexpr char kSettles[] = "settle() leaves the training as it was";
constexpr char kSettlesAgain[] = "settle() returns the same weights when it is called again";
constexpr char kResumes[] = "interrupted and resumed, it ends with the same weights";
constexpr char kRuns[] = "runs";
constexpr int kMostRanks = 16;      // of a strategy that supports none of the scope's numbers of ranks

// Processor time beside the ranks that is not noise, in seconds and as a share of the ranks' own.
constexpr double kOtherSeconds = 0.02, kOtherShare = 0.1;

// On smooth networks rounding stays below these limits. The error of the planted strategy is a thousand times larger.
double limit_of(const std::string& optimizer) { return optimizer == "adam" ? 1e-4 : 1e-5; }

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = std::isfinite(difference) ? std::max(largest, difference) : INFINITY;
  }
  return largest;
}

// Over the ranks that are expected.
double largest_difference(const std::vector<std::vector<float>>& expected, const std::vector<std::vector<float>>& weights) {
  double largest = 0;
  for (std::size_t rank = 0; rank < expected.size(); ++rank)
    largest = std::max(largest, largest_difference(expected[rank], weights.at(rank)));
  return largest;
}

std::string difference_text(double difference, double limit, std::size_t steps) {
  if (difference == 0) return fmt::format("the same bits after {} steps", steps);
  const std::string text = fmt::format("differs by {:.1e} after {} steps", difference, steps);
  return limit == 0 ? text : fmt::format("{}, limit {:.0e}", text, limit);
}

}  // namespace

Verification::Verification(const Config& config, const Dataset& dataset, Platform& platform, const VerifyScope& scope,
                           std::string folder)
    : config_(config), scope_(scope), trainings_(config, dataset, platform, scope, std::move(folder)) {}

void Verification::listen(const VerifyListener& listener) {
  listener_ = listener;
  trainings_.listen(listener);
}

void Verification::report(Verdict verdict, const TrainingCase& of, const std::string& check, const std::string& figure) {
  listener_.found({verdict, of.strategy.label, check, of.optimizer, of.ranks, figure});
}

void Verification::judge(bool good, const TrainingCase& of, const std::string& check, const std::string& figure) {
  report(good ? Verdict::passed : Verdict::failed, of, check, figure);
}

bool Verification::compare(const TrainingCase& of, const std::string& check, const Expectation& expected,
                           const TrainingOutcome& outcome) {
  const double difference = largest_difference(expected.weights, outcome.weights);
  const bool good = difference <= expected.limit;
  listener_.found({good ? Verdict::passed : Verdict::failed, of.strategy.label, check, of.optimizer, of.ranks,
                   difference_text(difference, expected.limit, outcome.result.steps), difference, expected.limit});
  return good;
}

bool Verification::skip(const TrainingCase& of, const StrategyOptions& options) {
  for (const OptionProblem& problem : options.problems()) {
    if (problem.warning) continue;
    report(Verdict::skipped, of, "does not apply: option " + problem.key, problem.text);
    return true;
  }
  return false;
}

void Verification::check_planted() {
  TrainingCase of{.optimizer = scope_.optimizers.empty() ? "sgd" : scope_.optimizers[0], .ranks = 3, .smooth = true};
  of.strategy.label = "planted";
  const TrainingOutcome outcome = trainings_.run(of, make_planted);
  const double limit = limit_of(of.optimizer);
  const double difference = largest_difference(outcome.weights[0], trainings_.reference(of.optimizer, 1, true));
  judge(difference > limit, of, "a mean of the means of unequal shares is detected",
        fmt::format("differs by {:.1e}, over the limit of {:.0e}", difference, limit));
}

void Verification::check(const StrategyConfig& strategy) {
  trainings_.take_usage();
  for (const std::string& optimizer : scope_.optimizers) {
    try {
      check_optimizer(strategy, optimizer);
    } catch (...) {
      report(Verdict::failed, {.strategy = strategy, .optimizer = optimizer}, kRuns, cause_of(std::current_exception()).sentence);
    }
  }
  check_threads(strategy);
}

std::vector<int> Verification::supported_ranks(const StrategyConfig& strategy, const std::string& optimizer) {
  TrainingCase of{.strategy = strategy, .optimizer = optimizer};
  std::vector<int> supported;
  Traits traits;
  for (const int ranks : scope_.ranks) {
    of.ranks = ranks;
    StrategyOptions options(strategy.options);
    traits = trainings_.traits(of, options);
    if (traits.least_ranks <= ranks && ranks <= traits.most_ranks) supported.push_back(ranks);
  }
  if (!supported.empty() || scope_.ranks.empty() || traits.most_ranks < 2) return supported;
  if (traits.least_ranks <= kMostRanks) return {std::clamp(scope_.ranks.front(), std::max(2, traits.least_ranks), traits.most_ranks)};
  report(Verdict::skipped, of, "several ranks", fmt::format("it needs at least {} ranks, more than verify trains with", traits.least_ranks));
  return {};
}

void Verification::check_optimizer(const StrategyConfig& strategy, const std::string& optimizer) {
  check_single_rank({.strategy = strategy, .optimizer = optimizer});
  for (const int ranks : supported_ranks(strategy, optimizer)) {
    const TrainingCase of{.strategy = strategy, .optimizer = optimizer, .ranks = ranks};
    StrategyOptions options(strategy.options);
    const Traits traits = trainings_.traits(of, options);
    if (skip(of, options)) continue;
    const bool local_norm = trainings_.normalises() && config_.batch_norm == BatchNormPolicy::local;
    if (traits.promise == Traits::Promise::exact && !local_norm) check_exact(of, traits);
    else check_approximate(of, traits);
  }
}

// One rank must equal one device. Options of an approximate strategy may change the update rule (a learning rate of its
// own, say); then the difference is only printed. A strategy that updates on the host rounds differently from a GPU, so on
// GPUs the network is smooth.
void Verification::check_single_rank(const TrainingCase& of) {
  StrategyOptions options(of.strategy.options);
  const Traits traits = trainings_.traits(of, options);
  if (traits.least_ranks > 1 || skip(of, options)) return;
  TrainingCase alone = of;
  alone.smooth = !on_cpu();
  const Expectation one{"one rank equals one device", {trainings_.reference(of.optimizer, 1, alone.smooth)}, limit_of(of.optimizer)};
  if (traits.promise == Traits::Promise::exact || of.strategy.options.empty()) {
    if (!on_cpu()) compare(alone, one.check, one, trainings_.run(alone).outcome);  // with captured steps
    check_disturbed(alone, one);
  } else {
    const TrainingOutcome outcome = trainings_.run(alone).outcome;
    report(Verdict::printed, of, one.check,
           difference_text(largest_difference(one.weights, outcome.weights), 0, outcome.result.steps));
  }
}

void Verification::check_exact(const TrainingCase& of, const Traits& traits) {
  TrainingCase smooth = of, own = of;
  smooth.smooth = own.audit = true;
  const Expectation global{"equals one device on the global batch (average pooling, tanh for relu)",
                           {trainings_.reference(of.optimizer, 1, true)},
                           limit_of(of.optimizer)};
  // With batch normalisation the reference normalises each share by itself, so it is no reference.
  const bool has_bits = traits.in_rank_order && !trainings_.normalises() && on_cpu();
  std::optional<ObservedTraining> plain, audited;
  if (has_bits || !on_cpu()) {
    plain = trainings_.run(smooth);
    compare(smooth, global.check, global, plain->outcome);
  }
  if (has_bits) {
    const auto shares = static_cast<std::size_t>(of.ranks);
    audited = check_disturbed(own, {"equals one rank that accumulates the shares, bit for bit",
                                    {trainings_.reference(of.optimizer, shares, false)}});
  } else {
    check_disturbed(smooth, global);
    plain = audited = trainings_.run(own);
  }
  const double drift = largest_difference(audited->outcome.weights[0], trainings_.reference(of.optimizer, 1, false));
  report(Verdict::printed, of, "drift from one device on the unchanged network", fmt::format("{:.1e}", drift));
  if (of.ranks > 1 && traits.models == Traits::Models::one) report_copies(of, audited->seen);
  check_settled(of, traits, audited->outcome);
  check_traffic(of, traits, plain->outcome.result);
}

void Verification::check_approximate(const TrainingCase& of, const Traits& traits) {
  TrainingCase audited = of;
  audited.audit = true;
  const ObservedTraining plain = trainings_.run(audited);
  const double distance = largest_difference(plain.outcome.weights[0], trainings_.reference(of.optimizer, 1, false));
  report(Verdict::printed, of, "distance from one device (no limit)", fmt::format("{:.1e}", distance));
  check_disturbed(of, {"the same seed gives the same bits", plain.outcome.weights});
  if (traits.pace == Traits::Pace::free) check_conservation(of, plain.outcome);
  check_settled(of, traits, plain.outcome);
  if (traits.models == Traits::Models::one && of.ranks > 1) check_contributions(of, plain);
}

// The same training, settled more and less often than usual, interrupted and resumed. If it ends as expected, nothing of
// this changed it; otherwise further trainings show what did.
ObservedTraining Verification::check_disturbed(TrainingCase of, const Expectation& expected) {
  of.settles = of.resumes = true;
  ObservedTraining training = trainings_.run(of);
  const bool alike = std::all_of(training.seen.ranks.begin(), training.seen.ranks.end(),
                                 [](const Observation::OfRank& rank) { return rank.settles_alike; });
  judge(alike, of, kSettlesAgain, alike ? "the same bits" : "other weights than before");
  if (largest_difference(expected.weights, training.outcome.weights) <= expected.limit) {
    compare(of, expected.check, expected, training.outcome);
    compare(of, kSettles, expected, training.outcome);
    compare(of, kResumes, expected, training.outcome);
  } else {
    find_disturbance(of, expected);
  }
  return training;
}

void Verification::find_disturbance(TrainingCase of, const Expectation& expected) {
  of.settles = of.resumes = false;
  if (!compare(of, expected.check, expected, trainings_.run(of).outcome)) {
    for (const char* check : {kSettles, kResumes})
      report(Verdict::skipped, of, check, "cannot be judged, because the training by itself is not as expected");
    return;
  }
  of.settles = true;
  bool is_found = !compare(of, kSettles, expected, trainings_.run(of).outcome);
  std::swap(of.settles, of.resumes);
  is_found = !compare(of, kResumes, expected, trainings_.run(of).outcome) || is_found;
  if (!is_found) report(Verdict::failed, of, kResumes, "not if settle() is also called between the steps");
}

// Not judged: a strategy may keep its model on some ranks only.
void Verification::report_copies(const TrainingCase& of, const Observation& seen) {
  double largest = 0;
  for (const Observation::OfRank& rank : seen.ranks) largest = std::max(largest, largest_difference(rank.live, seen.ranks[0].live));
  report(Verdict::printed, of, "weights of the ranks before settle()", largest == 0 ? "the same bits" : fmt::format("differ by {:.1e}", largest));
}

void Verification::check_settled(const TrainingCase& of, const Traits& traits, const TrainingOutcome& outcome) {
  if (traits.models == Traits::Models::one) {
    double largest = 0;
    for (const std::vector<float>& weights : outcome.weights) largest = std::max(largest, largest_difference(weights, outcome.weights[0]));
    judge(largest == 0, of, "all ranks settle on the same weights", largest == 0 ? "the same bits" : fmt::format("differ by {:.1e}", largest));
  }
  std::size_t missed = 0;
  for (const std::uint32_t times : outcome.times_seen) missed += times != 1;
  judge(missed == 0, of, "trains on each sample once per epoch",
        missed == 0 ? fmt::format("{} samples", outcome.times_seen.size()) : fmt::format("{} of {} samples missed or repeated", missed, outcome.times_seen.size()));
}

// Ranks cannot compute the sum over all shares without an exchange: without counted bytes, they go around the group.
void Verification::check_traffic(const TrainingCase& of, const Traits& traits, const Result& result) {
  if (of.ranks == 1 || traits.models == Traits::Models::many) return;
  judge(result.bytes_per_step > 0, of, "the ranks' exchange is counted",
        result.bytes_per_step > 0 ? fmt::format("{:.0f} bytes per step", result.bytes_per_step) : "no bytes were sent in any step");
}

// One model of all ranks must change if one of them gets other samples. Without counted bytes, the copies of other ranks
// must not have changed before settle().
void Verification::check_contributions(TrainingCase of, const ObservedTraining& plain) {
  // Another rank for each optimiser: a model that depends on one rank only is then detected with certainty by two of them.
  const auto turn = std::find(scope_.optimizers.begin(), scope_.optimizers.end(), of.optimizer) - scope_.optimizers.begin();
  of.altered_rank = static_cast<int>((scope_.seed + static_cast<std::uint64_t>(turn)) % static_cast<std::uint64_t>(of.ranks));
  const ObservedTraining altered = trainings_.run(of);
  const bool depends = altered.outcome.weights[0] != plain.outcome.weights[0];
  judge(depends, of, "the model depends on every rank's samples",
        depends ? fmt::format("those of rank {} change it", of.altered_rank) : fmt::format("those of rank {} do not change it", of.altered_rank));
  if (plain.outcome.result.bytes_per_step > 0) return;
  bool is_alone = true;
  for (int rank = 0; rank < of.ranks; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    is_alone = is_alone && (rank == of.altered_rank || altered.seen.ranks[at].live == plain.seen.ranks[at].live);
  }
  judge(is_alone, of, "the ranks' exchange is counted",
        is_alone ? "none before settle()" : "no bytes were sent in any step, but ranks learn from each other's samples");
}

// Free-running ranks: the sum of the gradients computed must equal the sum of the gradients applied.
void Verification::check_conservation(const TrainingCase& of, const TrainingOutcome& outcome) {
  double gap = 0, size = 0;
  for (std::size_t i = 0; i < outcome.pushed.size(); ++i) {
    gap += (outcome.pushed[i] - outcome.applied[i]) * (outcome.pushed[i] - outcome.applied[i]);
    size += outcome.pushed[i] * outcome.pushed[i];
  }
  const double relative = size == 0 ? 0 : std::sqrt(gap / size);
  // With options the result is only printed: they may drop or correct gradients, or apply the mean of several.
  const Verdict verdict = relative < 1e-5 ? Verdict::passed : of.strategy.options.empty() ? Verdict::failed : Verdict::printed;
  report(verdict, of, "applied gradients equal computed gradients",
         fmt::format("relative gap {:.1e} over {} updates", relative, outcome.result.updates));
}

// A thread beside the ranks takes processor time that the strategy's figures do not show. Drivers of GPUs have such threads.
void Verification::check_threads(const StrategyConfig& strategy) {
  const ThreadUsage usage = trainings_.take_usage();
  if (!on_cpu() || usage.ranks_seconds == 0) return;
  const TrainingCase all{.strategy = strategy, .ranks = 0};
  judge(usage.left == 0, all, "its threads end with the training",
        usage.left == 0 ? "none is left" : fmt::format("{} threads are left", usage.left));
  const double share = usage.other_seconds / usage.ranks_seconds;
  judge(usage.other_seconds < kOtherSeconds || share < kOtherShare, all, "only the threads of its ranks compute",
        fmt::format("other threads took {:.2f} s of processor time, the ranks {:.2f} s", usage.other_seconds, usage.ranks_seconds));
}

bool verify(const Config& config, const Dataset& dataset, Platform& platform, const VerifyScope& scope,
            const std::function<void(const Finding&)>& found) {
  const TemporaryFolder folder;
  Verification verification(config, dataset, platform, scope, folder.path());
  bool passed = true;
  VerifyListener listener;
  listener.found = [&](const Finding& finding) {
    passed = passed && finding.verdict != Verdict::failed;
    found(finding);
  };
  verification.listen(listener);
  verification.check_planted();
  for (const StrategyConfig& row : config.strategies) verification.check(row);
  return passed;
}

}  // namespace mgcompare
