// The part of verify.h that compares two processes.

#include <algorithm>
#include <utility>

#include "check/verify.h"

namespace mgcompare {
namespace {

using Verdict = VerifyFinding::Verdict;

constexpr char kTrains[] = "another process trains the same weights";
constexpr char kResumesElsewhere[] = "another process resumes its checkpoint and ends with the same weights";

}  // namespace

std::optional<TrainingCase> Verification::kept_case(const StrategyConfig& strategy) {
  TrainingCase of{.strategy = strategy, .optimizer = scope_.optimizers.front(), .is_brief = true};
  StrategyOptions options(strategy.options);
  const Traits traits = trainings_.traits(of, options);
  if (lacks_common_step(traits)) {
    if (traits.least_ranks > 1) return std::nullopt;
  } else if (!scope_.ranks.empty()) {
    of.ranks = std::clamp(scope_.ranks.front(), traits.least_ranks, traits.most_ranks);
  }
  of.smooth = traits.promise == Traits::Promise::exact;
  return fit(of) ? std::optional(of) : std::nullopt;
}

void Verification::keep(const StrategyConfig& strategy) {
  try {
    if (const auto of = kept_case(strategy)) trainings_.keep(*of);
  } catch (...) {
    report_exception(strategy, scope_.optimizers.front());
  }
}

// What a process keeps of its first training, such as a static value, is then that of another seed and perhaps of another network.
void Verification::train_before(const StrategyConfig& strategy) {
  try {
    auto of = kept_case(strategy);
    if (!of) return;
    of->has_other_seed = true;
    run(*of);
  } catch (...) {
    report_exception(strategy, scope_.optimizers.front());
  }
}

// The same bits, but the limit of exact strategies for those that may add in any order, and on GPUs, where libraries may choose other
// kernels in another process.
void Verification::check_kept(const StrategyConfig& strategy) {
  try {
    const auto of = kept_case(strategy);
    if (!of) return;
    StrategyOptions options(of->strategy.options);
    const bool rounds = of->smooth && !(on_cpu() && trainings_.traits(*of, options).in_rank_order);
    const Expectation kept{kTrains, trainings_.kept_weights(*of), rounds ? rounding_limit(of->optimizer) : 0};
    if (compare(*of, kTrains, kept, run(*of).outcome)) compare(*of, kResumesElsewhere, kept, trainings_.resume_kept(*of));
    else report(Verdict::skipped, *of, kResumesElsewhere, "cannot be judged, because the training by itself is not as expected");
  } catch (...) {
    report_exception(strategy, scope_.optimizers.front());
  }
}

}  // namespace mgcompare
