#include "check/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <utility>

#include "base/temporary_folder.h"
#include "check/check_names.h"
#include "check/reference.h"
#include "check/weight_difference.h"
#include "mgcompare/random.h"
#include "results/cause.h"

namespace mgcompare {
namespace {

using Verdict = VerifyFinding::Verdict;

constexpr char kPlanted[] = "a mean of the means of unequal shares is detected";
constexpr char kGlobal[] = "equals one device on the global batch (average pooling, tanh for relu)";
constexpr char kGlobalNorm[] = "with batch_norm: sync, equals one device on the global batch (average pooling, tanh for relu)";
constexpr char kBits[] = "equals one rank that accumulates the shares, bit for bit";
constexpr char kSameBits[] = "the same seed gives the same bits";
constexpr char kSameWeights[] = "the same seed gives the same weights";
constexpr char kTrainsAll[] = "it trains each tensor that one device trains";
constexpr char kSettles[] = "settle() leaves the training as it was";
constexpr char kSettlesAgain[] = "settle() returns the same weights when it is called again";
constexpr char kKeepsBuffers[] = "settle() leaves the statistics of batch normalisation as they were";
constexpr char kLearnsFromPasses[] = "only samples that it learns from pass forward";
constexpr char kSaves[] = "save() leaves the training as it was";
constexpr char kWarmsUp[] = "the warm-up leaves the training as it was";
constexpr int kMostRanks = 16;      // of a strategy that supports none of the scope's numbers of ranks
// Processor time beside the ranks that is not noise, in seconds and as a share of the ranks' own.
constexpr double kOtherSeconds = 0.02, kOtherShare = 0.1;

bool contains(const std::vector<int>& all, int one) { return std::find(all.begin(), all.end(), one) != all.end(); }
bool is_exact(const Traits& traits) { return traits.promise == Traits::Promise::exact; }
bool has_one_model(const Traits& traits) { return traits.models == Traits::Models::one; }

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

void Verification::report_exception(const StrategyConfig& strategy, const std::string& optimizer) {
  report(Verdict::failed, {.strategy = strategy, .optimizer = optimizer}, "runs", cause_of(std::current_exception()).sentence);
}

void Verification::judge(bool good, const TrainingCase& of, const std::string& check, const std::string& figure) {
  report(good ? Verdict::passed : Verdict::failed, of, check, figure);
}

bool Verification::compare(const TrainingCase& of, const std::string& check, const Expectation& expected,
                           const TrainingOutcome& outcome) {
  const VerifyFinding finding = finding_of(of, check, expected, outcome.weights, outcome.result.steps);
  listener_.found(finding);
  return finding.verdict == Verdict::passed;
}

ObservedTraining Verification::run(const TrainingCase& of) {
  ObservedTraining training = trainings_.run(of);
  for (const Observation::OfRank& rank : training.seen.ranks) {
    keeps_buffers_ = keeps_buffers_ && rank.keeps_buffers;
    for (const Observation::Epoch& epoch : rank.epochs) only_passed_ += epoch.only_passed;
  }
  if (training.seen.buffers) buffers_excess_ = std::max(buffers_excess_, training.seen.buffers->largest_excess());
  return training;
}

// A period, for instance, may be longer than an epoch of a brief training, but not of a full one.
std::optional<Traits> Verification::fit(TrainingCase& of) {
  std::vector<OptionProblem> problems;
  if (const std::optional<Traits> traits = accepted(of, problems)) return traits;
  if (problems[0].of_plugin) throw Error(of.strategy.label + " " + problems[0].text);
  refused_ = fmt::format("option {}: {}", problems[0].key, problems[0].text);
  report(Verdict::skipped, of, "does not apply: option " + problems[0].key, problems[0].text);
  return std::nullopt;
}

std::optional<Traits> Verification::accepted(TrainingCase& of, std::vector<OptionProblem>& problems) {
  for (const bool is_brief : {of.is_brief, !of.is_brief}) {
    of.is_brief = is_brief;
    StrategyOptions options(of.strategy.options);
    const Traits traits = trainings_.traits(of, options);
    problems = options.problems();
    std::erase_if(problems, [](const OptionProblem& problem) { return problem.warning; });
    if (!problems.empty()) continue;
    fitted_ = true;
    return traits;
  }
  return std::nullopt;
}

void Verification::check_planted() {
  TrainingCase of{.optimizer = scope_.optimizers.empty() ? "sgd" : scope_.optimizers[0], .ranks = 3, .is_brief = true, .smooth = true};
  of.strategy.label = "planted";
  const TrainingOutcome outcome = trainings_.run(of, make_planted).outcome;
  const double limit = rounding_limit(of.optimizer);
  const double difference = largest_difference(outcome.weights[0], trainings_.reference(of, 1));
  if (difference <= limit && trainings_.has_equal_samples())
    return report(Verdict::skipped, of, kPlanted, "all samples that verify draws from the data are equal, so that all shares have the same mean");
  judge(difference > limit, of, kPlanted, fmt::format("differs by {:.1e}, {} the limit of {:.0e}", difference, difference > limit ? "over" : "not over", limit));
}

void Verification::check(const StrategyConfig& strategy) {
  trainings_.take_usage();
  refused_.clear();
  fitted_ = false;
  for (const std::string& optimizer : scope_.optimizers) {
    try {
      check_optimizer(strategy, optimizer);
      if (!fitted_ && !refused_.empty()) check_unordered(strategy, optimizer);
    } catch (...) {
      report_exception(strategy, optimizer);
    }
  }
  check_usage(strategy);
  // Nothing was checked. A run refuses such a row, too.
  if (!fitted_ && !refused_.empty() && !strategy.options.empty())
    report(Verdict::failed, {.strategy = strategy}, "its options are accepted", refused_);
}

std::vector<int> Verification::supported_ranks(const StrategyConfig& strategy, const std::string& optimizer) {
  TrainingCase of{.strategy = strategy, .optimizer = optimizer};
  std::vector<int> supported, all = scope_.ranks;
  if (is_first(optimizer)) all.insert(all.end(), scope_.first_ranks.begin(), scope_.first_ranks.end());
  Traits traits;
  for (const int ranks : all) {
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
    TrainingCase of{.strategy = strategy, .optimizer = optimizer, .ranks = ranks};
    StrategyOptions options(strategy.options);
    of.is_brief = !is_first(optimizer) || !is_exact(trainings_.traits(of, options)) || !contains(scope_.ranks, ranks);
    const std::optional<Traits> traits = fit(of);
    if (!traits) continue;
    const bool local_norm = trainings_.normalises() && config_.batch_norm == BatchNormPolicy::local;
    if (lacks_common_step(*traits)) {
      report_no_common_step(of);
      continue;
    }
    if (is_exact(*traits) && !local_norm) check_exact(of, *traits);
    else check_approximate(of, *traits);
    if (is_exact(*traits) && local_norm && !has_bits(*traits)) check_shared_norm(of);
    if (is_exact(*traits) && local_norm) check_fitted(of, *traits);
    report_buffers(of, *traits);
  }
}

// One rank must equal one device. Options of an approximate strategy may change the update rule (a learning rate of its
// own, say); then the difference is only printed. A strategy may sum in an order of its own, or update on the host, which
// rounds differently from a GPU: so the network is smooth.
void Verification::check_single_rank(TrainingCase alone) {
  alone.is_brief = !is_first(alone.optimizer);
  StrategyOptions options(alone.strategy.options);
  if (trainings_.traits(alone, options).least_ranks > 1) return;
  const std::optional<Traits> traits = fit(alone);
  if (!traits) return;
  alone.smooth = true;
  const Expectation one = expected_of("one rank equals one device", alone, 1, rounding_limit(alone.optimizer));
  if (is_exact(*traits) || alone.strategy.options.empty()) {
    if (!on_cpu()) compare(alone, one.check, one, run(alone).outcome);  // with captured steps
    check_disturbed(alone, one);
    if (is_exact(*traits)) check_fitted(alone, *traits);
  } else {
    const TrainingOutcome outcome = run(alone).outcome;
    report(Verdict::printed, alone, one.check,
           difference_text(largest_difference(one.weights, outcome.weights), 0, outcome.result.steps));
  }
  report_buffers(alone, *traits);
}

void Verification::check_exact(const TrainingCase& of, const Traits& traits) {
  const ObservedTraining training = has_bits(traits) ? check_bits(of) : check_global(of);
  if (of.ranks > 1) check_fitted(of, traits);
  if (of.ranks > 1 && has_one_model(traits)) report_copies(of, training.seen);
  check_settled(of, traits, training);
  check_traffic(of, traits, training);
}

// To the bit, on the unchanged network. What one rank that accumulates the shares differs from one device by holds for it too.
ObservedTraining Verification::check_bits(const TrainingCase& of) {
  const auto shares = static_cast<std::size_t>(of.ranks);
  TrainingCase own = of, smooth = of;
  own.audit = smooth.smooth = true;
  const Expectation bits = expected_of(kBits, own, shares, 0);
  ObservedTraining training = check_disturbed(own, bits);
  if (largest_difference(bits.weights, training.outcome.weights) == 0) {
    const Expectation global{kGlobal, {trainings_.reference(smooth, 1)}, rounding_limit(of.optimizer)};
    listener_.found(finding_of(smooth, kGlobal, global, {trainings_.reference(smooth, shares)}, training.outcome.result.steps));
  } else {
    compare(smooth, kGlobal, {kGlobal, {trainings_.reference(smooth, 1)}, rounding_limit(of.optimizer)}, run(smooth).outcome);
  }
  report_drift(of, training.outcome);
  return training;
}

ObservedTraining Verification::check_global(const TrainingCase& of) {
  TrainingCase smooth = of;
  smooth.smooth = true;
  const Expectation global = expected_of(kGlobal, smooth, 1, rounding_limit(of.optimizer));
  if (!on_cpu()) compare(smooth, kGlobal, global, run(smooth).outcome);  // with captured steps
  smooth.audit = true;
  ObservedTraining training = check_disturbed(smooth, global);
  run_unchanged(of);
  return training;
}

// That it trains the unchanged network at all shows in one epoch.
void Verification::run_unchanged(TrainingCase of) {
  of.smooth = false;
  of.epochs = 1;
  report_drift(of, run(of).outcome);
}

// With local batch normalisation no training on one device is a reference, except to the bit for gradients that are added in
// rank order. The same strategy must equal one device where the ranks share the statistics.
void Verification::check_shared_norm(TrainingCase of) {
  of.shares_norm = of.smooth = of.audit = true;
  compare_epochs(of, expected_of(kGlobalNorm, of, 1, rounding_limit(of.optimizer)));
}

// Not judged: near-ties amplify rounding.
void Verification::report_drift(const TrainingCase& of, const TrainingOutcome& outcome) {
  report(Verdict::printed, of, "drift from one device on the unchanged network",
         fmt::format("{:.1e} after {} steps", largest_difference(outcome.weights[0], trainings_.reference(of, 1)), outcome.result.steps));
}

// An exact one with local batch normalisation may add in any order, so it is judged like other exact ones: on a smooth network, up to
// rounding.
void Verification::check_approximate(TrainingCase of, const Traits& traits) {
  of.smooth = is_exact(traits) && !traits.in_rank_order;
  TrainingCase audited = of;
  audited.audit = true;
  const ObservedTraining plain = run(audited);
  const double distance = largest_difference(plain.outcome.weights[0], trainings_.reference(of, 1));
  report(Verdict::printed, of, "distance from one device (no limit)", fmt::format("{:.1e}", distance));
  const std::string untrained = trainings_.untrained_tensor(of, plain.outcome.weights[0]);
  judge(untrained.empty(), of, kTrainsAll,
        untrained.empty() ? "each has changed" : fmt::format("{} are as they were at the beginning, and one device has changed them", untrained));
  // With local batch normalisation, one rank that accumulates the shares normalises each by itself, too.
  Expectation same{kSameBits, plain.outcome.weights};
  if (of.smooth) same = {kSameWeights, plain.outcome.weights, rounding_limit(of.optimizer)};
  if (is_exact(traits) && has_bits(traits)) {
    const Expectation bits = expected_of(kBits, of, static_cast<std::size_t>(of.ranks), 0);
    compare(of, kBits, bits, plain.outcome);
    same.epochs = bits.epochs;
  }
  const ObservedTraining disturbed = check_disturbed(of, same);
  if (of.smooth) run_unchanged(of);
  if (is_exact(traits)) check_traffic(of, traits, disturbed);
  if (of.ranks > 1 && traits.role == Traits::Role::ceiling) check_ceiling(of, plain);
  if (of.ranks > 1 && traits.pace == Traits::Pace::lockstep) check_sent(of, plain.seen, disturbed.seen);
  if (traits.pace == Traits::Pace::free) {
    check_conservation(of, plain.outcome);
    check_real_time(audited, traits);
  }
  check_settled(of, traits, plain);
  if (has_one_model(traits) && of.ranks > 1) check_contributions(of, traits, plain);
}

// The same training, settled more and less often than usual, interrupted and resumed. If it ends as expected, nothing of
// this changed it; otherwise further trainings show what did.
ObservedTraining Verification::check_disturbed(TrainingCase of, const Expectation& expected) {
  of.settles = of.resumes = true;
  // What is expected was computed as with numerics.deterministic, which a strategy in lockstep may not depend on.
  StrategyOptions options(of.strategy.options);
  of.in_real_time = trainings_.traits(of, options).pace == Traits::Pace::lockstep;
  of.warms_up = is_first(of.optimizer);
  of.settled = expected.epochs;
  of.limit = expected.limit;
  ObservedTraining training = run(of);
  const bool alike = std::all_of(training.seen.ranks.begin(), training.seen.ranks.end(),
                                 [](const Observation::OfRank& rank) { return rank.settles_alike; });
  judge(alike, of, kSettlesAgain, alike ? "the same bits" : "other weights than before");
  const VerifyFinding finding = finding_of(of, expected.check, expected, training.outcome.weights, training.outcome.result.steps);
  if (finding.verdict == Verdict::passed) {
    compare(of, expected.check, expected, training.outcome);
    compare(of, kSettles, expected, training.outcome);
    compare(of, kResumes, expected, training.outcome);
    compare(of, kSaves, expected, training.outcome);
    if (of.warms_up) compare(of, kWarmsUp, expected, training.outcome);
    if (expected.epochs != nullptr) check_epochs(of, expected, training);
  } else if (finding.verdict == Verdict::skipped) {
    listener_.found(finding);
  } else if (std::optional<ObservedTraining> settled = find_disturbance(of, expected)) {
    // Its exchange is compared with that of the plain one. State that a checkpoint lacks would change it, too, and has been found.
    training = std::move(*settled);
  }
  return training;
}

std::optional<ObservedTraining> Verification::find_disturbance(const TrainingCase& disturbed, const Expectation& expected) {
  std::vector<std::pair<const char*, bool TrainingCase::*>> all = {
      {kSettles, &TrainingCase::settles}, {kSaves, &TrainingCase::saves}, {kResumes, &TrainingCase::resumes}};
  if (disturbed.warms_up) all.emplace_back(kWarmsUp, &TrainingCase::warms_up);
  TrainingCase plain = disturbed;
  plain.settles = plain.resumes = plain.warms_up = false;
  if (!compare(plain, expected.check, expected, run(plain).outcome)) {
    for (const auto& [check, disturbance] : all)
      report(Verdict::skipped, plain, check, "cannot be judged, because the training by itself is not as expected");
    return {};
  }
  bool is_found = false;
  std::optional<ObservedTraining> settled;
  for (const auto& [check, disturbance] : all) {
    TrainingCase one = plain;
    one.*disturbance = true;
    ObservedTraining training = run(one);
    is_found = !compare(one, check, expected, training.outcome) || is_found;
    if (disturbance == &TrainingCase::settles) settled = std::move(training);
  }
  if (!is_found) report(Verdict::failed, disturbed, kResumes, "not together with what else should change nothing");
  return settled;
}

// Not judged: a strategy may keep its model on some ranks only.
void Verification::report_copies(const TrainingCase& of, const Observation& seen) {
  double largest = 0;
  for (const Observation::OfRank& rank : seen.ranks) largest = std::max(largest, largest_difference(rank.live, seen.ranks[0].live));
  report(Verdict::printed, of, "weights of the ranks before settle()", largest == 0 ? "the same bits" : fmt::format("differ by {:.1e}", largest));
}

// Of all trainings since the last call.
void Verification::report_buffers(const TrainingCase& of, const Traits& traits) {
  const bool keeps = std::exchange(keeps_buffers_, true);
  const double excess = std::exchange(buffers_excess_, 0);
  const std::uint64_t only_passed = std::exchange(only_passed_, 0);
  if (!trainings_.normalises()) return;
  judge(keeps, of, kKeepsBuffers, keeps ? "the same bits" : "other values than before");
  judge(excess <= 1, of, "the statistics of batch normalisation are those of the passes",
        excess <= 1 ? "each lies between the ranks' own" : fmt::format("outside of the ranks' own by {:.1e} times what rounding explains", excess));
  if (is_exact(traits))
    judge(only_passed == 0, of, kLearnsFromPasses,
          only_passed == 0 ? "each forward pass has its backward pass" : fmt::format("{} samples only passed forward, which changes the statistics", only_passed));
}

// Threads and processes beside the ranks take processor time that the strategy's figures do not show, and what is left behind
// disturbs the next training. Drivers of GPUs have threads, too.
void Verification::check_usage(const StrategyConfig& strategy) {
  const Usage usage = trainings_.take_usage();
  if (usage.ranks_seconds == 0) return;
  const TrainingCase all{.strategy = strategy, .ranks = 0};
  judge(usage.left.empty(), all, "its threads, processes and descriptors end with the training",
        usage.left.empty() ? "none is left" : fmt::format("a training {}", usage.left));
  if (!on_cpu()) return;
  const double share = usage.other_seconds / usage.ranks_seconds;
  judge(usage.other_seconds < kOtherSeconds || share < kOtherShare, all, "only the threads of its ranks compute",
        fmt::format("other threads and processes took {:.2f} s of processor time, the ranks {:.2f} s", usage.other_seconds, usage.ranks_seconds));
}

bool verify(const Config& config, const Dataset& dataset, Platform& platform, const VerifyScope& scope,
            const std::function<void(const VerifyFinding&)>& found) {
  const TemporaryFolder folder;
  Verification verification(config, dataset, platform, scope, folder.path());
  bool passed = true;
  VerifyListener listener;
  listener.found = [&](const VerifyFinding& finding) {
    passed = passed && finding.verdict != Verdict::failed;
    found(finding);
  };
  verification.listen(listener);
  verification.check_planted();
  for (const StrategyConfig& row : config.strategies) verification.check(row);
  return passed;
}

}  // namespace mgcompare
