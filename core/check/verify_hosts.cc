// What a verification checks of ranks on several hosts: a strategy computes what it computes on one host.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "check/check_names.h"
#include "check/verify.h"
#include "check/weight_difference.h"
#include "mgcompare/random.h"

namespace mgcompare {
namespace {

using Verdict = VerifyFinding::Verdict;
using Weights = std::vector<std::vector<float>>;

constexpr std::size_t kEpochsOnHosts = 2;
constexpr int kMostAltered = 4;
constexpr char kAlike[] = "all ranks have the same bits";

std::string text_of(const HostShape& shape) {
  return fmt::format("on {} hosts of {} rank{}", shape.hosts, shape.ranks, shape.ranks == 1 ? "" : "s");
}

std::string text_of(const std::string& place, const std::string& check) { return fmt::format("{}, {}", place, check); }

// What all ranks have if they have the model of the first.
Weights first_of_all(const TrainingOutcome& outcome) { return Weights(outcome.weights.size(), outcome.weights[0]); }

// Every rank. Of more than kMostAltered one of each host: trainings of many ranks take long.
std::vector<int> altered_ranks(const TrainingCase& of, std::uint64_t seed) {
  const int hosts = static_cast<int>(of.hosts), of_host = of.ranks / hosts;
  const Random random(seed, static_cast<std::uint64_t>(of.ranks));
  std::vector<int> ranks;
  for (int host = 0; host < hosts; ++host) {
    const int drawn = static_cast<int>(random.below(static_cast<std::uint64_t>(host), static_cast<std::uint64_t>(of_host)));
    for (int rank = 0; rank < of_host; ++rank)
      if (of.ranks <= kMostAltered || rank == drawn) ranks.push_back(host * of_host + rank);
  }
  return ranks;
}

// A step in the first half of one of the first two epochs, so that the model has time to show it. Not the first step of all, whose learning rate
// is 0.
Alteration alteration_of(const VerifyScope& scope, const Extent& extent, int rank) {
  const auto turn = scope.seed + static_cast<std::uint64_t>(rank);
  const Random random(scope.seed, turn);
  const std::size_t step = 1 + random.below(0, std::max<std::size_t>(2, extent.steps_per_epoch / 2) - 1);
  return {rank, turn % kEpochsOnHosts, step, random.uniform(1)};
}

}  // namespace

void Verification::check_hosts(const StrategyConfig& strategy) {
  if (!on_cpu() || scope_.optimizers.empty()) return;
  for (const HostShape& shape : scope_.hosts) {
    TrainingCase of{.strategy = strategy, .optimizer = scope_.optimizers.front(), .ranks = shape.ranks * static_cast<int>(shape.hosts), .hosts = shape.hosts,
                    .is_brief = true, .epochs = kEpochsOnHosts, .in_real_time = true};
    try {
      const std::optional<Traits> traits = fit(of);
      if (!traits || of.ranks < traits->least_ranks || of.ranks > traits->most_ranks || lacks_common_step(*traits)) continue;
      if (const std::string refused = trainings_.refused_hosts(of, *traits); !refused.empty())
        return report(Verdict::skipped, of, "several hosts", refused);
      if (traits->pace == Traits::Pace::free) check_free_pace(of, *traits, text_of(shape));
      else check_shape(of, *traits, text_of(shape));
    } catch (...) {
      report_exception(strategy, of.optimizer);
    }
  }
}

// By default each host adds its own ranks first; deterministic runs add in rank order.
void Verification::check_shape(TrainingCase of, const Traits& traits, const std::string& place) {
  const bool is_exact = traits.promise == Traits::Promise::exact;
  const bool local_norm = trainings_.normalises() && config_.batch_norm == BatchNormPolicy::local;
  const double limit = rounding_limit(of.optimizer);
  of.smooth = is_exact;
  const TrainingOutcome plain = trainings_.run_on_hosts(of).outcome;
  if (is_exact && !local_norm)
    compare(of, text_of(place, "equals one device on the global batch (average pooling, tanh for relu)"), {"", {trainings_.reference(of, 1)}, limit}, plain);
  if (traits.models == Traits::Models::one) compare(of, text_of(place, kAlike), {"", first_of_all(plain)}, plain);
  // Others may add in the order in which ranks arrive.
  const bool has_order = !is_exact || traits.in_rank_order;
  const std::string same = has_order ? "the same seed gives the same bits" : "the same seed gives the same weights";
  check_repetition(of, {same, plain.weights, has_order ? 0 : limit}, place);
  // What equals one device has learned from all samples.
  if (traits.models == Traits::Models::one && (!is_exact || local_norm)) check_samples_of_hosts(of, plain, place);
  if (!is_exact || !has_bits(traits)) return;
  of.in_real_time = false;
  compare(of, text_of(place, "in rank order, equals one rank that accumulates the shares, bit for bit"),
          {"", {trainings_.reference(of, static_cast<std::size_t>(of.ranks))}}, trainings_.run_on_hosts(of).outcome);
}

// In virtual time sections have an order, which depends on the ranks only. A strategy may do something else on several hosts than on one
// (Facts::hosts), so how far the weights are from those of one host is no failure.
void Verification::check_free_pace(TrainingCase of, const Traits& traits, const std::string& place) {
  of.in_real_time = false;
  of.all_epochs = kEpochsOnHosts;          // it has no limit of steps, and exchanges between hosts take long
  const TrainingOutcome plain = trainings_.run_on_hosts(of).outcome;
  if (traits.models == Traits::Models::one) compare(of, text_of(place, kAlike), {"", first_of_all(plain)}, plain);
  check_repetition(of, {"in virtual time, the same seed gives the same bits", plain.weights}, place);
  if (traits.models == Traits::Models::one) check_samples_of_hosts(of, plain, place);
  TrainingCase one = of;
  one.hosts = 1;
  VerifyFinding finding = finding_of(of, text_of(place, "in virtual time, equals as many ranks of one host"), {"", trainings_.run(one).outcome.weights},
                                     plain.weights, plain.result.steps);
  if (finding.verdict == Verdict::failed) finding.verdict = Verdict::printed;
  listener_.found(finding);
}

void Verification::check_repetition(TrainingCase of, const Expectation& expected, const std::string& place) {
  const bool repeats = compare(of, text_of(place, expected.check), expected, trainings_.run_on_hosts(of).outcome);
  if (!repeats) return report(Verdict::skipped, of, text_of(place, kResumes), "cannot be judged, because the training by itself is not as expected");
  of.resumes = true;
  compare(of, text_of(place, kResumes), expected, trainings_.run_on_hosts(of).outcome);
}

void Verification::check_samples_of_hosts(TrainingCase of, const TrainingOutcome& plain, const std::string& place) {
  const Extent extent = extent_of(scope_, of.optimizer, of.is_brief);
  std::string altered;
  for (const int rank : altered_ranks(of, scope_.seed)) {
    of.alteration = alteration_of(scope_, extent, rank);
    const std::optional<bool> depends = depends_on_sample(of, plain);
    const std::string sample = fmt::format("rank {} in step {} of epoch {}", rank, of.alteration->step + 1, of.alteration->epoch + 1);
    if (!depends)
      report(Verdict::printed, of, text_of(place, kDepends), fmt::format("not checked with {}, which has no sample or only such as all others are", sample));
    else if (!*depends) return judge(false, of, text_of(place, kDepends), fmt::format("another sample of {} does not change it", sample));
    else altered += fmt::format("{}{}", altered.empty() ? "" : ", ", rank);
  }
  if (!altered.empty()) judge(true, of, text_of(place, kDepends), fmt::format("another sample changes it, whichever of the ranks {} has it", altered));
}

std::optional<bool> Verification::depends_on_sample(TrainingCase of, const TrainingOutcome& plain) {
  const ObservedTraining altered = trainings_.run_on_hosts(of);
  if (!altered.seen.ranks[static_cast<std::size_t>(of.alteration->rank)].was_altered) return std::nullopt;
  if (altered.outcome.weights[0] != plain.weights[0]) return true;
  // A model may show it later: in a whole training.
  of.epochs = of.all_epochs = 0;
  const TrainingOutcome whole = trainings_.run_on_hosts(of).outcome;
  of.alteration.reset();
  return whole.weights[0] != trainings_.run_on_hosts(of).outcome.weights[0];
}

}  // namespace mgcompare
