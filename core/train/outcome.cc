#include "train/outcome.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/median.h"
#include "measure/lateness.h"
#include "results/target_crossing.h"
#include "results/weight_sketch.h"
#include "train/rank_report.h"

namespace mgcompare {
namespace {

double ratio(std::uint64_t some, std::uint64_t all) {
  return all == 0 ? 0.0 : static_cast<double>(some) / static_cast<double>(all);
}

Tally tested_by(const std::vector<RankEpoch>& ranks) {
  Tally tested;
  for (const RankEpoch& rank : ranks) {
    tested.loss += rank.tested.loss;
    tested.correct += rank.tested.correct;
    tested.predictions += rank.tested.predictions;
  }
  return tested;
}

void describe(Result& result, const TrialFacts& facts) {
  const Trial& trial = *facts.trial;
  const bool local_norm = facts.spec->buffers > 0 && trial.config.batch_norm == BatchNormPolicy::local && trial.ranks() > 1;
  const bool promised = facts.traits.promise == Traits::Promise::exact;
  constexpr const char* kRoles[] = {"contender", "baseline", "ceiling"};
  result.traits = {{"promise", promised && !local_norm ? "exact" : "approximate"},
                   {"pace", facts.traits.pace == Traits::Pace::free ? "free" : "lockstep"},
                   {"models", facts.traits.models == Traits::Models::many ? "many" : "one"},
                   {"role", kRoles[static_cast<int>(facts.traits.role)]}};
  if (local_norm && promised)
    result.notes.push_back("batch_norm is local: each rank normalises its own share, so the result differs from that of one device, and this run "
                           "cannot check its promise: `mgcompare verify` does");
  if (facts.traits.pace == Traits::Pace::free && trial.config.deterministic && trial.ranks() > 1)
    result.notes.push_back("ran in virtual time (numerics.deterministic), in which ranks wait for their turn: its speed is not that of a free run");
  if (facts.traits.pace == Traits::Pace::free && trial.config.measure.record)
    result.notes.push_back("ran with deterministic kernels to record its schedule (measure.record): a run without may be faster");
  if (facts.traits.pace == Traits::Pace::free && trial.config.evaluate < 1)
    result.notes.push_back("evaluated after whole epochs only, because its ranks run freely");
  if (facts.capture_suppressed && trial.device_kind == DeviceKind::cuda)
    result.notes.push_back("ran without CUDA graphs because a trace was written: its speed is not that of a run without a trace");
  if (trial.ranks_per_device > 1)
    result.notes.push_back(std::to_string(trial.ranks_per_device) + " ranks share a device; not part of a scaling curve");
}

// Seconds of each `period` steps of the last epoch, in which a strategy makes all that it does. Without the first one, before which the device
// was idle, the last, which may have fewer samples, and those in which a step was measured, which takes longer on all ranks.
std::vector<double> periods_of(const Rank& rank, std::size_t steps_of_epoch, std::size_t period) {
  const std::size_t end = rank.step_seconds.size() - std::min<std::size_t>(1, steps_of_epoch), begin = rank.step_seconds.size() - steps_of_epoch;
  std::vector<double> all;
  for (std::size_t first = begin + period; first + period <= end; first += period) {
    double seconds = 0;
    bool is_measured = false;
    for (std::size_t step = first; step < first + period; ++step) {
      seconds += rank.step_seconds[step];
      is_measured |= rank.sampler != nullptr && rank.sampler->is_due(step);
    }
    if (!is_measured) all.push_back(seconds);
  }
  return all;
}

void add_audit(TrainingOutcome& outcome, const std::vector<Rank>& ranks, const TrialFacts& facts) {
  outcome.pushed = outcome.applied = GradientSums(facts.spec->parameters);
  outcome.times_seen.assign(facts.dataset->train.samples, 0);
  for (const Rank& rank : ranks) {
    outcome.pushed += rank.replica->pushed();
    outcome.applied += rank.replica->applied();
    outcome.rates.add(rank.replica->rates());
    for (std::size_t i = 0; i < outcome.times_seen.size(); ++i) outcome.times_seen[i] += rank.replica->seen()[i];
  }
}

// Ranks whose copies depart, see EpochResult.
struct Departures {
  std::uint64_t apart = 0, moved = 0;
};

Departures departures_of(const std::vector<RankEpoch>& ranks, const TrialFacts& facts) {
  Departures found;
  for (const RankEpoch& rank : ranks) {
    found.apart += facts.traits.models == Traits::Models::one && rank.settled_fingerprint != ranks[0].settled_fingerprint ? 1 : 0;
    found.moved += rank.was_moved ? 1 : 0;
  }
  return found;
}

}  // namespace

std::string weights_hash(const std::vector<float>& weights) {
  Sha256 hash;
  hash.add(weights.data(), weights.size() * sizeof(float));
  return hash.digest();
}

double evaluated_accuracy(const std::vector<RankEpoch>& ranks, const TrialFacts& facts) {
  const Tally tested = tested_by(ranks);
  const std::size_t expected = facts.dataset->test.targets.size() * (facts.traits.models == Traits::Models::many ? ranks.size() : 1);
  if (tested.predictions != expected)
    throw Error("the evaluation counted " + std::to_string(tested.predictions) + " predictions, expected " + std::to_string(expected) +
                ": settle(), rest() or a thread of the strategy ran passes of its own");
  return ratio(tested.correct, tested.predictions);
}

EvaluationResult evaluation_within(const std::vector<RankEpoch>& ranks, const TrialFacts& facts) {
  const Departures departures = departures_of(ranks, facts);
  EvaluationResult evaluation;
  evaluation.accuracy = evaluated_accuracy(ranks, facts);
  evaluation.ranks_apart = departures.apart;
  evaluation.ranks_moved = departures.moved;
  return evaluation;
}

void add_epoch(Result& result, const std::vector<RankEpoch>& ranks, const Rank& first, const TrialFacts& facts, bool evaluated,
               double seconds_training, double seconds_evaluation, std::vector<EvaluationResult> within) {
  const bool many = facts.traits.models == Traits::Models::many;
  const Tally tested = tested_by(ranks);
  Tally trained;
  double lowest = 1, highest = 0;
  for (const RankEpoch& rank : ranks) {
    trained.loss += rank.trained.loss;
    trained.correct += rank.trained.correct;
    trained.predictions += rank.trained.predictions;
    if (rank.tested.predictions == 0) continue;
    const double accuracy = ratio(rank.tested.correct, rank.tested.predictions);
    lowest = std::min(lowest, accuracy);
    highest = std::max(highest, accuracy);
  }

  EpochResult epoch;
  epoch.loss = trained.predictions == 0 ? 0 : trained.loss / static_cast<double>(trained.predictions);
  epoch.train_accuracy = ratio(trained.correct, trained.predictions);
  epoch.accuracy = evaluated ? evaluated_accuracy(ranks, facts) : ratio(tested.correct, tested.predictions);
  if (tested.predictions > 0) epoch.test_loss = tested.loss / static_cast<double>(tested.predictions);
  epoch.evaluations = std::move(within);
  epoch.seconds_training = seconds_training;
  epoch.seconds_evaluation = seconds_evaluation;
  if (evaluated) epoch.sketch = sketch_of(first.settled_weights);
  if (evaluated && !first.evaluated_buffers.empty()) epoch.statistics_sketch = sketch_of(first.evaluated_buffers);
  if (trained.predictions == 0 && result.epochs.empty() && facts.dataset->train.samples > 0)
    result.notes.push_back("the strategy called loss() for no sample: its training loss and training accuracy, shown as 0, are not known");
  const Departures departures = departures_of(ranks, facts);
  epoch.ranks_apart = departures.apart;
  epoch.ranks_moved = departures.moved;
  for (const EvaluationResult& evaluation : epoch.evaluations) {
    epoch.ranks_apart = std::max(epoch.ranks_apart, evaluation.ranks_apart);
    epoch.ranks_moved = std::max(epoch.ranks_moved, evaluation.ranks_moved);
  }
  for (const RankEpoch& rank : ranks) result.exclusive_sections += rank.exclusive_sections;
  result.epochs.push_back(epoch);
  LearnedSamples learned;
  for (const RankEpoch& rank : ranks) learned = learned + rank.learned;
  const std::uint64_t due = facts.dataset->train.samples;
  // A strategy may compute the loss of a pass more than once, or by itself: backward passes count. Samples without one count if no other
  // pass stands for them.
  const std::uint64_t samples = std::max(learned.computed, std::min(trained.predictions / facts.spec->targets, due));
  result.samples += samples;
  result.samples_ignored += static_cast<std::int64_t>(samples - learned.computed + learned.unread);
  // Where passes change the network beside the weights, those of other samples change what is evaluated.
  if (facts.traits.promise == Traits::Promise::exact && facts.spec->buffers > 0)
    result.samples_only_passed += learned.only_passed();
  result.samples_judged_again += std::max(trained.predictions / facts.spec->targets, due) - due;
  // Other numbers of samples show by themselves.
  result.epochs.back().repeats_samples = learned.computed == due && !learned.cover(due) ? 1 : 0;
  result.samples_due = facts.dataset->train.samples * result.epochs.size();
  if (evaluated) result.samples_evaluated = facts.dataset->test.samples;
  result.seconds_training += seconds_training;
  result.seconds_evaluation += seconds_evaluation;
  result.accuracy = epoch.accuracy;
  result.accuracy_spread = many && tested.predictions > 0 ? highest - lowest : 0;
  result.seconds_to_target = crossing_of(result.epochs, facts.trial->config.target_accuracy).seconds;
}

void conclude(TrainingOutcome& outcome, const std::vector<Rank>& ranks, const HostReport& report, const TrialFacts& facts, bool audit) {
  Result& result = outcome.result;
  const Rank& first = ranks[0];
  result.parameters = facts.spec->parameters;
  result.steps = first.step_seconds.size();
  result.step_seconds_median = median(first.step_seconds);
  result.samples_per_second = result.seconds_training > 0 ? static_cast<double>(result.samples) / result.seconds_training : 0;
  result.harness_share = result.seconds_training > 0 ? first.times.harness / result.seconds_training : 0;
  result.windows = windows_of(of_last_stage(first.intervals.all(), facts.traits.stages, result.steps));
  result.weights_hash = weights_hash(first.settled_weights);
  result.ranks = report.times;
  result.metrics = report.metrics;
  result.placement = report.placement;
  result.peak_memory = report.peak_memory;
  result.bytes_per_step = report.steps == 0 ? 0 : report.bytes / static_cast<double>(report.steps);
  if (result.changed_settings.empty()) result.changed_settings = report.changed_settings;
  // A strategy may have optimisers that it does not use with these options.
  result.updates = report.strategy_updates > 0 ? report.strategy_updates : first.replica->own_updates();
  if (facts.trial->rehearsal) {
    result.exchange_calls = first.breakdown.calls;
    result.exchange_call_steps = first.breakdown.call_steps;
    const auto period = static_cast<std::size_t>(std::max(1, facts.traits.repeats_every));
    result.seconds_late = lateness(periods_of(first, result.steps / std::max<std::size_t>(1, result.epochs.size()), period), facts.trial->ranks()) /
                          static_cast<double>(period);
  }
  describe(result, facts);
  if (audit) add_audit(outcome, ranks, facts);
}

}  // namespace mgcompare
