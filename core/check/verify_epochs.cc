// The part of verify.h that looks at every epoch of a training, not only at its end.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "check/check_names.h"
#include "check/verify.h"
#include "check/weight_difference.h"

namespace mgcompare {
namespace {

using Verdict = VerifyFinding::Verdict;

constexpr char kEveryEpoch[] = "settle() returns the same weights as one device after each epoch";
constexpr char kWithinEpochs[] = "settle() returns the same weights as one device within epochs";

// Of statistics, relative to their size. It is ten times what weights within their limits change, and more only where the control is farther.
constexpr double kStatisticsGap = 1e-3;

// The first epoch in which all ranks together did not train on each sample once, and how many samples that are.
std::pair<std::size_t, std::size_t> missed_samples(const Observation& seen) {
  for (std::size_t i = 0; i < seen.ranks[0].epochs.size(); ++i) {
    std::vector<std::uint32_t> times = seen.ranks[0].epochs[i].seen;
    for (std::size_t rank = 1; rank < seen.ranks.size(); ++rank)
      std::transform(times.begin(), times.end(), seen.ranks[rank].epochs.at(i).seen.begin(), times.begin(), std::plus<>());
    const auto missed = static_cast<std::size_t>(std::count_if(times.begin(), times.end(), [](std::uint32_t n) { return n != 1; }));
    if (missed > 0) return {seen.ranks[0].epochs[i].number, missed};
  }
  return {};
}

// The first epoch after which settle() returned different weights on the ranks.
std::optional<std::size_t> epoch_apart(const Observation& seen) {
  for (std::size_t i = 0; i < seen.ranks[0].epochs.size(); ++i)
    for (const Observation::OfRank& rank : seen.ranks)
      if (rank.epochs.at(i).settled != seen.ranks[0].epochs[i].settled) return seen.ranks[0].epochs[i].number;
  return std::nullopt;
}

}  // namespace

Verification::Expectation Verification::expected_of(const std::string& check, const TrainingCase& of, std::size_t shares, double limit) {
  const std::vector<SettledModel>& epochs = trainings_.reference_epochs(of, shares);
  return {check, {epochs.back().weights}, limit, &epochs};
}

// A run reports what settle() returns after each epoch, not only the last.
void Verification::check_epochs(const TrainingCase& of, const Expectation& expected, const ObservedTraining& training) {
  const std::size_t steps = extent_of(scope_, of.optimizer, of.is_brief).steps_per_epoch;
  for (std::size_t rank = 0; rank < training.seen.ranks.size(); ++rank) {
    for (const Observation::Epoch& epoch : training.seen.ranks[rank].epochs) {
      if (epoch.weights.empty()) continue;
      VerifyFinding finding = finding_of(of, kEveryEpoch, {kEveryEpoch, {expected.epochs->at(epoch.number).weights}, expected.limit}, {epoch.weights},
                                         (epoch.number + 1) * steps);
      if (finding.verdict == Verdict::passed) continue;
      finding.figure = fmt::format("after epoch {}, rank {}: {}", epoch.number + 1, rank, finding.figure);
      return listener_.found(finding);
    }
  }
  judge(true, of, kEveryEpoch, fmt::format("in each of {} epochs", training.seen.ranks[0].epochs.size()));
  check_within_epochs(of, expected, training);
  check_statistics(of, expected, training);
}

// A run evaluates them where `evaluate` asks for it.
void Verification::check_within_epochs(const TrainingCase& of, const Expectation& expected, const ObservedTraining& training) {
  const std::size_t steps = extent_of(scope_, of.optimizer, of.is_brief).steps_per_epoch;
  std::size_t known = 0;
  for (const SettledModel& epoch : *expected.epochs) known += epoch.within.size();
  const bool was_settled = of.settles && !training.seen.ranks[0].sent.empty();  // in lockstep
  if (known == 0 || !was_settled) return;
  for (std::size_t rank = 0; rank < training.seen.ranks.size(); ++rank) {
    for (const auto& [place, weights] : training.seen.ranks[rank].within) {
      const auto [epoch, step] = place;
      VerifyFinding finding = finding_of(of, kWithinEpochs, {kWithinEpochs, {expected.epochs->at(epoch).within.at(step)}, expected.limit}, {weights},
                                         epoch * steps + step + 1);
      if (finding.verdict == Verdict::passed) continue;
      finding.figure = fmt::format("after step {} of epoch {}, rank {}: {}", step + 1, epoch + 1, rank, finding.figure);
      return listener_.found(finding);
    }
  }
  judge(true, of, kWithinEpochs, fmt::format("after each of {} steps", known));
}

// Weights do not show them, and accuracy depends on them.
void Verification::check_statistics(const TrainingCase& of, const Expectation& expected, const ObservedTraining& training) {
  const bool has_those_of_one = of.ranks == 1 || of.shares_norm || config_.batch_norm == BatchNormPolicy::sync;
  if (!trainings_.normalises() || !has_those_of_one) return;
  double largest = 0, limit = kStatisticsGap;
  std::vector<SettledModel> control;
  int controls = 0;
  for (const Observation::Epoch& epoch : training.seen.ranks[0].epochs) {
    if (epoch.buffers.empty()) continue;
    const std::vector<float>& one = expected.epochs->at(epoch.number).buffers;
    const StatisticsGap gap = trainings_.statistics_gap(of, one, epoch.buffers);
    largest = std::max(largest, gap.gap);
    if (gap.gap <= limit) continue;
    // Statistics follow the weights, which another order of summation may have moved as far.
    const auto allow = [&] { limit = std::max(limit, kDriftFactor * trainings_.statistics_gap(of, one, control.at(epoch.number).buffers).gap); };
    if (controls > 0) allow();
    while (gap.gap > limit && controls < kControls) {
      control = trainings_.control_epochs(of, ++controls);
      allow();
    }
    if (gap.gap <= limit) continue;
    return judge(false, of, kStatistics, fmt::format("after epoch {}, those of {} differ by {:.1e} of their size, limit {:.0e}", epoch.number + 1, gap.layer,
                                                     gap.gap, limit));
  }
  judge(true, of, kStatistics, fmt::format("differ by {:.1e} of their size, limit {:.0e}", largest, limit));
}

// Gradients are small there, and those of samples that are learned nearly 0: what depends on such values shows. A training from random
// weights is too short to reach them.
void Verification::check_fitted(TrainingCase of, const Traits& traits) {
  of.smooth = of.is_brief = of.fitted = true;
  if (!fit(of)) return;
  // This training also settles after the epoch that a disturbed one leaves out.
  compare_with_reference(of, traits, "from weights that fit the samples");
}

void Verification::compare_with_reference(TrainingCase of, const Traits& traits, const std::string& what) {
  const bool has_local_norm = of.ranks > 1 && trainings_.normalises() && config_.batch_norm == BatchNormPolicy::local;
  const bool has_reference_to_the_bit = has_local_norm && has_bits(traits);
  of.shares_norm = has_local_norm && !has_reference_to_the_bit;
  const std::string check = has_reference_to_the_bit
                                ? "equals one rank that accumulates the shares, bit for bit, " + what
                                : fmt::format("{}equals one device on the global batch {}", has_local_norm ? "with batch_norm: sync, " : "", what);
  const Expectation expected = has_reference_to_the_bit ? expected_of(check, of, static_cast<std::size_t>(of.ranks), 0)
                                                        : expected_of(check, of, 1, rounding_limit(of.optimizer));
  const ObservedTraining training = compare_epochs(of, expected);
  // These are the only trainings of late epochs.
  if (scope_.has_own_schedule) check_traffic(of, traits, training);
}

void Verification::check_size(const StrategyConfig& strategy, const VerifySize& size) {
  for (const std::string& optimizer : scope_.optimizers) {
    try {
      for (const int ranks : supported_ranks(strategy, optimizer)) {
        TrainingCase of{.strategy = strategy, .optimizer = optimizer, .ranks = ranks, .is_brief = true, .epochs = scope_.most_epochs, .smooth = true};
        StrategyOptions options(strategy.options);
        of.resumes = scope_.resumes_late && on_cpu();  // captured steps of GPUs cannot be watched
        if (trainings_.traits(of, options).promise != Traits::Promise::exact) {
          if (of.resumes && is_first(optimizer)) check_resumed(of, size.what);
          continue;
        }
        if (scope_.has_own_schedule && rounding_decides(of)) continue;
        if (const std::optional<Traits> traits = fit(of)) compare_with_reference(of, *traits, size.what);
      }
    } catch (...) {
      report_exception(strategy, optimizer);
    }
  }
}

// A count of steps may be kept in too few bits, for instance.
void Verification::check_resumed(TrainingCase of, const std::string& what) {
  of.smooth = of.resumes = false;
  const std::optional<Traits> traits = fit(of);
  if (!traits || lacks_common_step(*traits)) return;
  of.saves = true;
  const Expectation whole{std::string(kResumes) + " " + what, run(of).outcome.weights, 0};
  compare(of, whole.check, whole, trainings_.resume_saved(of));
}

ObservedTraining Verification::compare_epochs(TrainingCase of, const Expectation& expected) {
  of.settled = expected.epochs;
  of.limit = expected.limit;
  ObservedTraining training = run(of);
  const Verdict verdict = finding_of(of, expected.check, expected, training.outcome.weights, training.outcome.result.steps).verdict;
  if (of.resumes && verdict == Verdict::failed) find_disturbance(of, expected);
  else if (compare(of, expected.check, expected, training.outcome)) check_epochs(of, expected, training);
  return training;
}

void Verification::check_settled(const TrainingCase& of, const Traits& traits, const ObservedTraining& training) {
  const TrainingOutcome& outcome = training.outcome;
  if (traits.models == Traits::Models::one) {
    double largest = 0;
    for (const std::vector<float>& weights : outcome.weights) largest = std::max(largest, largest_difference(weights, outcome.weights[0]));
    std::string figure = largest == 0 ? "the same bits" : fmt::format("differ by {:.1e}", largest);
    const std::optional<std::size_t> apart = traits.pace == Traits::Pace::lockstep ? epoch_apart(training.seen) : std::nullopt;
    if (largest == 0 && apart) figure = fmt::format("differ after epoch {}", *apart + 1);
    judge(largest == 0 && !apart, of, "all ranks settle on the same weights", figure);
  }
  std::size_t early = 0;
  for (const Observation::OfRank& rank : training.seen.ranks) early += rank.samples_before_steps;
  std::string figure = fmt::format("{} samples", scope_.samples);
  const auto [epoch, missed] = missed_samples(training.seen);
  if (missed > 0) figure = fmt::format("{} of {} missed or repeated in epoch {}", missed, figure, epoch + 1);
  if (early > 0) figure += fmt::format(", and {} before the first step", early);
  judge(missed + early == 0, of, "trains on each sample once per epoch", figure);
}

}  // namespace mgcompare
