// The part of verify.h that trains in real time, as runs do unless the config is deterministic. A strategy sees which it is (Facts::ordered), and may do
// something else than in virtual time.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "check/verify.h"

namespace mgcompare {
namespace {

using Verdict = VerifyFinding::Verdict;

constexpr char kDependsInRealTime[] = "in real time, the model depends on every rank's samples";

// The last ones are for what a model shows some exchanges later.
constexpr std::size_t kEpochsInRealTime = 6;
// A gradient that comes too late may be dropped in one training, but not each time.
constexpr std::size_t kTrainings = 3;
constexpr std::size_t kLeastSteps = kTrainings;  // of a part in all of them
// If weights that have no gradient change too, what is learned must change others more: the ratio of the sums of squares.
constexpr double kOverNoise = 2;

// Which parts of which ranks' samples models have shown so far.
class ShownParts {
 public:
  explicit ShownParts(const MarkedSamples& marks) : marks_(marks), parts_(marks.ranks(), std::vector<Part>(marks.judged_parts())) {}

  void add(const ObservedTraining& training) {
    for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
      const std::vector<std::size_t>& made = training.seen.ranks[rank].marked;
      for (std::size_t part = 0; part < parts_[rank].size(); ++part) {
        Part& own = parts_[rank][part];
        if (part < made.size()) own.steps += made[part];
        own.is_shown = own.is_shown || shows(training.outcome.weights, rank, part);
      }
    }
  }

  bool all() const { return !first(1).has_value(); }
  // A rank and its part that no model shows, although it made so many steps in it.
  std::optional<std::pair<std::size_t, std::size_t>> first(std::size_t steps) const {
    for (std::size_t rank = 0; rank < parts_.size(); ++rank)
      for (std::size_t part = 0; part < parts_[rank].size(); ++part)
        if (!parts_[rank][part].is_shown && parts_[rank][part].steps >= steps) return std::pair(rank, part);
    return std::nullopt;
  }
  std::size_t count(std::size_t rank) const {
    return static_cast<std::size_t>(std::count_if(parts_[rank].begin(), parts_[rank].end(), [](const Part& part) { return part.is_shown; }));
  }

 private:
  struct Part {
    std::size_t steps = 0;
    bool is_shown = false;
  };

  // What settle() returned on every rank.
  bool shows(const std::vector<std::vector<float>>& models, std::size_t rank, std::size_t part) const {
    for (const std::vector<float>& model : models) {
      const double noise = marks_.learned(model, marks_.ranks());
      const bool is_shown = noise == 0 ? marks_.learned(model, rank, part) > 0 : marks_.learned(model, rank) > kOverNoise * noise;
      if (!is_shown) return false;
    }
    return true;
  }

  const MarkedSamples& marks_;
  std::vector<std::vector<Part>> parts_;  // by rank
};

}  // namespace

// Staleness, and with it the rates, depend on the machine.
void Verification::check_real_time(TrainingCase of, const Traits& traits) {
  of.in_real_time = true;
  check_conservation(of, run(of).outcome);
  if (traits.models == Traits::Models::one && of.ranks > 1) check_marks(of);
}

// Its trainings cannot be repeated. So they are only required to end, what they apply is compared with what they compute, and what ranks learn must show.
void Verification::check_unordered(const StrategyConfig& strategy, const std::string& optimizer) {
  if (config_.deterministic) return;  // a run refuses the row, too
  for (const int ranks : scope_.ranks) {
    TrainingCase of{.strategy = strategy, .optimizer = optimizer, .ranks = ranks, .is_brief = true, .audit = true, .in_real_time = true};
    std::vector<OptionProblem> problems;
    const std::optional<Traits> traits = accepted(of, problems);
    if (!traits) continue;
    if (lacks_common_step(*traits)) report_no_common_step(of);
    else check_real_time(of, *traits);
  }
}

void Verification::check_marks(TrainingCase of) {
  const MarkedSamples marks(static_cast<std::size_t>(of.ranks), scope_.samples, scope_.seed);
  of.marks = &marks;
  of.smooth = false;
  of.all_epochs = kEpochsInRealTime;
  if (!fit(of)) return;
  ShownParts shown(marks);
  bool drops = false;               // as options may ask it to
  for (std::size_t k = 0; k < kTrainings && (k == 0 || !shown.all()); ++k) {
    const ObservedTraining training = run(of);
    drops |= !of.strategy.options.empty() && training.outcome.result.updates > 0 && relative_gap(training.outcome.pushed.sum, training.outcome.applied.sum) >= kConservedGap;
    shown.add(training);
  }
  std::size_t least = marks.judged_parts();
  for (std::size_t rank = 0; rank < marks.ranks(); ++rank) least = std::min(least, shown.count(rank));
  const auto missing = shown.first(kLeastSteps);
  if (missing && drops && least > 0)
    return report(Verdict::printed, of, kDependsInRealTime,
                  fmt::format("it applies other gradients than it computes; what each rank learns is in the model, in {} of {} parts or more", least,
                              marks.judged_parts()));
  if (missing) {
    const auto [rank, part] = *missing;
    return judge(false, of, kDependsInRealTime, fmt::format("what rank {} learns in {} steps of epoch {} is not in the model of any of {} trainings", rank,
                                                  part % 2 == 0 ? "odd" : "even", part / 2 + 1, kTrainings));
  }
  if (least == 0) return report(Verdict::printed, of, kDependsInRealTime, "not checked with all ranks: one made too few steps");
  judge(true, of, kDependsInRealTime, fmt::format("what each rank learns in even and in odd steps of an epoch is in the model, in {} of {} such parts or more", least,
                                        marks.judged_parts()));
}

}  // namespace mgcompare
