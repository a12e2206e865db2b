// The part of verify.h that tells rounding from other differences.

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "check/verify.h"
#include "check/weight_difference.h"
#include "results/cause.h"

namespace mgcompare {
namespace {

using Verdict = VerifyFinding::Verdict;

// Of weights with the config's learning rates, which may be large.
constexpr double kMostDrift = 1e-3;

}  // namespace

VerifyFinding Verification::finding_of(const TrainingCase& of, const std::string& check, const Expectation& expected,
                                       const std::vector<std::vector<float>>& weights, std::size_t steps) {
  const double largest = largest_difference(expected.weights, weights);
  VerifyFinding finding{Verdict::failed, of.strategy.label, check, of.optimizer, of.ranks, difference_text(largest, expected.limit, steps),
                        largest, expected.limit};
  const bool is_rounded = expected.limit > 0 && of.smooth;
  if (is_rounded && largest > expected.limit && std::isfinite(largest)) {
    const std::optional<Departure> worst = judged_departure(of, expected, weights);
    if (!worst) {
      finding.verdict = Verdict::skipped;
      finding.figure = fmt::format("cannot be judged: rounding decides; differs by {:.1e} after {} steps, and one device from itself in another order of "
                                   "summation by more than {:.0e}", largest, steps, kLargestLimit / kDriftFactor);
      return finding;
    }
    finding.value = worst->difference;
    finding.limit = worst->limit;
    finding.figure = fmt::format("{} for the {}", difference_text(worst->difference, worst->limit, steps), worst->tensor);
    if (worst->limit > expected.limit)
      finding.figure += fmt::format(", {:.0f} times what another order of summation changes there", kDriftFactor);
  }
  if (is_rounded && largest > 0) finding.figure += fmt::format("; control {:.1e}", trainings_.control_drift(of));
  if (finding.value <= finding.limit) finding.verdict = Verdict::passed;
  return finding;
}

std::optional<Departure> Verification::judged_departure(const TrainingCase& of, const Expectation& expected,
                                                        const std::vector<std::vector<float>>& weights) {
  try {
    Departure worst = largest_departure(expected.weights, weights, trainings_.limits(of, expected.limit, 1));
    if (worst.difference <= worst.limit) return worst;
    const std::vector<TensorLimit> limits = trainings_.limits(of, expected.limit, kControls);
    worst = largest_departure(expected.weights, weights, limits);
    if (worst.difference <= worst.limit) return worst;
    double largest = worst.limit;
    // With batch normalisation some weights have no true gradient: theirs alone may be rounding.
    if (!trainings_.normalises())
      for (const TensorLimit& tensor : limits) largest = std::max(largest, tensor.limit);
    if (largest <= kLargestLimit) return worst;
  } catch (const Diverged&) {
  }
  return std::nullopt;
}

bool Verification::rounding_decides(const TrainingCase& of) {
  try {
    return !(trainings_.control_drift(of) <= kMostDrift);
  } catch (const Diverged&) {
    return true;
  }
}

}  // namespace mgcompare
