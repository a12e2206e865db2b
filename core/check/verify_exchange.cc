// What a verification checks of the exchange between ranks: that it is counted, and that it loses nothing.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "check/check_names.h"
#include "check/verify.h"
#include "check/weight_difference.h"
#include "plan/least_bytes.h"

namespace mgcompare {
namespace {

using Verdict = VerifyFinding::Verdict;

constexpr char kCounted[] = "the ranks' exchange is counted";
constexpr double kCountRounding = 0.001;  // a rank's part of a collective is no whole number of bytes, and each count is rounded
constexpr char kCeiling[] = "the ceiling exchanges nothing";
constexpr char kConserved[] = "applied gradients equal computed gradients", kConservedInRealTime[] = "in real time, applied gradients equal computed gradients";
constexpr char kSingly[] = "each update applies a gradient as it was computed", kSinglyInRealTime[] = "in real time, each update applies a gradient as it was computed";
constexpr char kRates[] = "gradients are applied at the learning rate of their step, or less if they are stale";
// Of the smallest factor on a learning rate: times the reciprocal of the number of ranks. With one gradient of each rank under way a
// gradient is stale by (ranks - 1) updates on average, and by a few times that at most.
constexpr double kStaleness = 4;
constexpr char kSent[] = "settle() takes no exchange over from steps";

}  // namespace

// Ranks cannot compute the sum over all shares without an exchange: without counted bytes, they go around the group.
void Verification::check_traffic(const TrainingCase& of, const Traits& traits, const ObservedTraining& training) {
  if (of.ranks == 1 || traits.models != Traits::Models::one) return;
  const double least = least_bytes_per_step(trainings_.parameters(), scope_.samples, extent_of(scope_, of.optimizer, of.is_brief).batch,
                                            static_cast<std::size_t>(of.ranks));
  if (training.bytes_per_step >= least && traits.pace == Traits::Pace::lockstep && !each_step_sends(of, training.seen)) return;
  judge(training.bytes_per_step >= least, of, kCounted,
        fmt::format("{:.3g} bytes per step and rank; {:.3g} are the least that an exact exchange needs", training.bytes_per_step, least));
}

// Others are compared with it as the bound of what training without an exchange reaches.
void Verification::check_ceiling(const TrainingCase& of, const ObservedTraining& training) {
  judge(!(training.bytes_per_step > 0), of, kCeiling, fmt::format("{:.3g} bytes per step and rank", training.bytes_per_step));
}

// The exchange of a step that is put off into settle() is neither timed nor counted.
bool Verification::each_step_sends(const TrainingCase& of, const Observation& seen) {
  const std::size_t batch = extent_of(scope_, of.optimizer, of.is_brief).batch;
  for (const auto& [place, first] : seen.ranks[0].sent) {
    double bytes = 0;
    for (const Observation::OfRank& rank : seen.ranks)
      if (const auto found = rank.sent.find(place); found != rank.sent.end()) bytes += found->second;
    const std::size_t size = std::min(batch, scope_.samples - place.second * batch);
    const std::size_t least = least_bytes_of_step(trainings_.parameters(), size, static_cast<std::size_t>(of.ranks));
    if (bytes + static_cast<double>(of.ranks) >= static_cast<double>(least)) continue;
    judge(false, of, kCounted, fmt::format("step {} of epoch {} sends {:.3g} bytes; {} are the least that an exact exchange needs",
                                           place.second + 1, place.first + 1, bytes, least));
    return false;
  }
  return true;
}

// An exchange in settle() is neither timed nor counted: a step that relies on it would be too fast. The two trainings settle at
// different steps.
void Verification::check_sent(const TrainingCase& of, const Observation& plain, const Observation& disturbed) {
  for (std::size_t rank = 0; rank < plain.ranks.size(); ++rank) {
    for (const auto& [step, bytes] : disturbed.ranks[rank].sent) {
      const auto other = plain.ranks[rank].sent.find(step);
      if (other == plain.ranks[rank].sent.end() || std::abs(other->second - bytes) <= kCountRounding * bytes + 8) continue;
      return judge(false, of, kSent,
                   fmt::format("in step {} of epoch {} rank {} sends {:.3g} bytes, and {:.3g} where settle() was called at other steps",
                               step.second + 1, step.first + 1, rank, other->second, bytes));
    }
  }
  judge(true, of, kSent, "the same in each step, wherever settle() was called");
}

// One model of all ranks must change if one rank gets another sample in one step. Without counted bytes, the copies of other
// ranks must not have changed before settle().
void Verification::check_contributions(TrainingCase of, const Traits& traits, const ObservedTraining& plain) {
  const AlteredTraining altered{of.optimizer, of.ranks, of.is_brief, traits.pace == Traits::Pace::lockstep};
  for (std::size_t i = 0; i < alterations_of(scope_, altered); ++i) {
    of.alteration = alteration_of(scope_, altered, i);
    check_contribution(of, plain);
  }
}

void Verification::check_contribution(TrainingCase of, const ObservedTraining& plain) {
  const auto changed = static_cast<std::size_t>(of.alteration->rank);
  const auto depends = [&](const ObservedTraining& altered) {
    return altered.seen.ranks[0].epochs.back().settled != plain.seen.ranks[0].epochs.at(altered.seen.ranks[0].epochs.size() - 1).settled;
  };
  // Most models show it at the end of the next epoch.
  of.epochs = of.alteration->epoch + 2;
  ObservedTraining altered = run(of);
  const std::string place = fmt::format("rank {} in step {} of epoch {}", changed, of.alteration->step + 1, of.alteration->epoch + 1);
  if (!altered.seen.ranks[changed].was_altered)
    return report(Verdict::printed, of, kDepends, fmt::format("not checked with {}, which has no sample or only such as all others are", place));
  if (!depends(altered)) {
    of.epochs = 0;
    altered = run(of);
  }
  if (!depends(altered) && !trainings_.reference_depends(of))
    return report(Verdict::printed, of, kDepends, fmt::format("not checked with {}: one device does not depend on its sample there either", place));
  const std::string which = of.alteration->place == 0 ? "the first sample" : of.alteration->place == 1 ? "the last sample" : "a sample";
  judge(depends(altered), of, kDepends, fmt::format("{} of {} {} it", which, place, depends(altered) ? "changes" : "does not change"));
  if (plain.bytes_per_step > 0) return;
  bool is_alone = true;
  for (std::size_t rank = 0; rank < altered.seen.ranks.size(); ++rank) {
    const std::vector<Observation::Epoch>&one = altered.seen.ranks[rank].epochs, &other = plain.seen.ranks[rank].epochs;
    is_alone = is_alone && (rank == changed || one.back().live == other.at(one.size() - 1).live);
  }
  judge(is_alone, of, kCounted,
        is_alone ? "none before settle()" : "no bytes were sent in any step, but ranks learn from each other's samples");
}

bool Verification::lacks_common_step(const Traits& traits) const {
  return trainings_.normalises() && config_.batch_norm == BatchNormPolicy::sync && traits.pace == Traits::Pace::free;
}

void Verification::report_no_common_step(const TrainingCase& of) {
  report(Verdict::skipped, of, "several ranks", "it has no step common to all ranks, and batch_norm: sync needs one");
}

// Free-running ranks: the sum of the gradients computed must equal the sum of the gradients applied.
void Verification::check_conservation(const TrainingCase& of, const TrainingOutcome& outcome) {
  const double relative = relative_gap(outcome.pushed.sum, outcome.applied.sum);
  // With options the result is only printed: they may drop or correct gradients, or apply the mean of several.
  // Updates that no Optimizer makes are not seen.
  const bool is_judged = of.strategy.options.empty() && outcome.result.updates > 0;
  const Verdict verdict = relative < kConservedGap ? Verdict::passed : is_judged ? Verdict::failed : Verdict::printed;
  report(verdict, of, of.in_real_time ? kConservedInRealTime : kConserved,
         fmt::format("relative gap {:.1e} over {} updates", relative, outcome.result.updates));
  const char* const singly = of.in_real_time ? kSinglyInRealTime : kSingly;
  // Of updates that combine or divide gradients, the squares are others.
  if (outcome.pushed.elements != outcome.applied.elements) {
    if (outcome.result.updates > 0) report(Verdict::skipped, of, singly, "it applies more or fewer elements than it computes: updates may combine or divide gradients");
  } else if (verdict == Verdict::passed) {
    const double gap = relative_gap(outcome.pushed.squares, outcome.applied.squares);
    report(gap < kConservedGap ? Verdict::passed : is_judged ? Verdict::failed : Verdict::printed, of, singly, fmt::format("relative gap of the squares {:.1e}", gap));
  }
  // The sums do not have the factors of Optimizer::update(), which may be smaller for stale gradients.
  if (outcome.rates.empty() || of.in_real_time) return;
  const double least = 1 / (kStaleness * of.ranks);
  const bool is_usual = outcome.rates.least >= least && outcome.rates.most <= 1;
  report(is_usual ? Verdict::passed : is_judged ? Verdict::failed : Verdict::printed, of, kRates,
         fmt::format("at {:.3g} to {:.3g} times the rate; by default {:.3g} to 1 are allowed", outcome.rates.least, outcome.rates.most, least));
}

}  // namespace mgcompare
