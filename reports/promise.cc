#include "reports/promise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "plan/controls.h"
#include "results/weight_sketch.h"

namespace mgcompare {
namespace {

// Relative to the norm of the other. nan: not known.
double distance_of(const std::string& one, const std::string& other) {
  const auto distance = sketch_distance(one, other), norm = sketch_norm(other);
  return distance && norm && *norm > 0 ? *distance / *norm : std::numeric_limits<double>::quiet_NaN();
}

// No number: the weights have infinite or undefined elements, and the baseline's do not.
double or_infinite(double departure) { return std::isnan(departure) ? std::numeric_limits<double>::infinity() : departure; }

// The loss of later epochs can be close to zero, and is then no scale.
double departure_of_loss(const EpochResult& one, const EpochResult& other, double first_loss) {
  return first_loss > 0 ? std::abs(one.loss - other.loss) / first_loss : std::numeric_limits<double>::quiet_NaN();
}

// Whether the loss has risen again by more than the floor.
bool rises(std::span<const EpochResult> epochs) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const EpochResult& epoch : epochs) {
    if (epoch.loss > lowest + kDepartureOfLoss * epochs.front().loss) return true;
    lowest = std::min(lowest, epoch.loss);
  }
  return false;
}

// Whether rounding grows steadily, and does not leap: there are no kinks, and no division by small gradients.
bool is_smooth(const Config& config) {
  const std::vector<LayerConfig>& layers = config.model.layers;
  return config.optimizer.kind == OptimizerKind::sgd && std::none_of(layers.begin(), layers.end(), [](const LayerConfig& layer) {
    return layer.type == LayerType::relu || layer.type == LayerType::max_pool;
  });
}

// The largest of evaluations within the epoch at the same steps.
double departure_within(const EpochResult& one, const EpochResult& other) {
  double largest = 0;
  for (const EvaluationResult& mine : one.evaluations)
    for (const EvaluationResult& its : other.evaluations)
      if (mine.epochs == its.epochs && !mine.sketch.empty() && !its.sketch.empty()) {
        const double distance = distance_of(mine.sketch, its.sketch);
        if (!(distance <= largest)) largest = distance;
      }
  return largest;
}

// Every number is that of the baseline, so no control is needed to tell rounding from a departure.
bool equals(const std::vector<EpochResult>& one, const std::vector<EpochResult>& other) {
  return !one.empty() && std::equal(one.begin(), one.end(), other.begin(), other.end(), [](const EpochResult& mine, const EpochResult& its) {
    return sketch_norm(mine.sketch) && mine.sketch == its.sketch && mine.statistics_sketch == its.statistics_sketch && mine.loss == its.loss &&
           departure_within(mine, its) == 0;
  });
}

}  // namespace

bool is_baseline_row(const Row& row) { return has_trait(row.result, "role", "baseline") && row.trial.ranks() == 1; }

std::string_view to_string(PromiseState state) {
  constexpr std::string_view kNames[] = {"", "not checked", "kept", "broken"};
  return kNames[static_cast<int>(state)];
}

bool promises_baseline(const Row& row) {
  return row.is_done() && row.trial.is_repeat() && has_trait(row.result, "promise", "exact") && has_trait(row.result, "models", "one") &&
         !is_baseline_row(row);
}

PromiseChecks::Departure PromiseChecks::Reference::one_later(std::size_t epoch) const {
  if (epoch + 1 < control.size()) return control[epoch + 1];
  const Departure& last = control[epoch];
  const double before = std::max(epoch == 0 ? 0 : control[epoch - 1].weights, kFirstDeparture);
  const double growth = std::clamp(last.weights / before, 1.0, kMostGrowth);
  return {growth * last.weights, growth * last.statistics, growth * last.loss};
}

PromiseChecks::PromiseChecks(const Run& run) {
  for (const Row& row : run.rows) {
    const bool is_reference = row.trial.reference && !row.trial.control;
    if (row.is_done() && is_baseline_row(row) && (row.trial.is_repeat() || is_reference))
      references_[control_group(row.trial)].baselines.try_emplace(row.trial.seed, &row);
  }
  for (const Row& row : run.rows)
    if (row.trial.control) add_rerun(row);
  // Without a control nothing is judged, so reruns come after it.
  for (const Row& row : run.rows)
    if (row.trial.bracket > 0 && is_baseline_row(row)) add_rerun(row);
  // Only of rows of which a repeat is doubtful: of() asks for no others.
  std::vector<std::pair<const Row*, PromiseCheck>> checks;
  std::set<std::string> doubtful;
  for (const Row& row : run.rows) {
    if (!promises_baseline(row)) continue;
    checks.emplace_back(&row, check(row));
    if (checks.back().second.is_doubtful) doubtful.insert(row_name(row.trial));
  }
  if (doubtful.empty()) return;
  for (const auto& [row, check] : checks) {
    const bool is_judged = check.state == PromiseState::kept || check.state == PromiseState::broken;
    if (!is_judged || !doubtful.contains(row_name(row->trial))) continue;
    Repeats& repeats = repeats_[row_name(row->trial)];
    ++repeats.judged;
    if (check.state == PromiseState::broken) ++repeats.broken;
  }
}

void PromiseChecks::add_rerun(const Row& row) {
  const auto reference = references_.find(control_group(row.trial));
  if (!row.is_done() || reference == references_.end()) return;
  const auto baseline = reference->second.baselines.find(row.trial.seed);
  if (baseline == reference->second.baselines.end()) return;
  std::vector<Departure>& known = reference->second.control;
  const std::vector<EpochResult>&one = row.result.epochs, &other = baseline->second->result.epochs;
  if (row.trial.control) known.resize(std::max(known.size(), std::min(one.size(), other.size())));
  Departure largest;
  for (std::size_t i = 0; i < std::min({one.size(), other.size(), known.size()}); ++i) {
    // A departure that is not known is no number.
    const auto add = [](double& so_far, double& most, double departure) { most = so_far = std::max({so_far, most, departure}); };
    add(largest.weights, known[i].weights, distance_of(one[i].sketch, other[i].sketch));
    add(largest.statistics, known[i].statistics, distance_of(one[i].statistics_sketch, other[i].statistics_sketch));
    add(largest.loss, known[i].loss, departure_of_loss(one[i], other[i], other.front().loss));
  }
}

PromiseCheck PromiseChecks::of(const Row& row) const {
  const PromiseCheck alone = check(row);
  if (!alone.is_doubtful) return alone;
  const Repeats& repeats = repeats_.at(row_name(row.trial));
  if (repeats.broken > 1 && 2 * repeats.broken > repeats.judged) return alone;
  return {.state = PromiseState::unchecked,
          .what = fmt::format("{} of {} repeats depart{} from the baseline, which rounding can cause", repeats.broken, repeats.judged,
                              repeats.broken == 1 ? "s" : ""),
          .is_doubtful = true};
}

PromiseCheck PromiseChecks::check(const Row& row) const {
  PromiseCheck check;
  if (!promises_baseline(row)) return check;
  check.state = PromiseState::unchecked;
  check.what = "no training on one device at this batch and seed was completed";
  const auto reference = references_.find(control_group(row.trial));
  if (reference == references_.end()) return check;
  const Reference& known = reference->second;
  const auto baseline = known.baselines.find(row.trial.seed);
  if (baseline == known.baselines.end()) return check;
  const std::vector<EpochResult>&mine = row.result.epochs, &its = baseline->second->result.epochs;
  if (equals(mine, its)) return {PromiseState::kept};
  check.what = "no control of its baseline was completed";
  const std::size_t epochs = std::min({mine.size(), its.size(), known.control.size()});
  double weights_before = 0;
  const bool smooth = is_smooth(*row.config);
  for (std::size_t i = 0; i < epochs; ++i) {
    const double weights = distance_of(mine[i].sketch, its[i].sketch);
    const double statistics = distance_of(mine[i].statistics_sketch, its[i].statistics_sketch);
    // A mean that includes other losses says nothing of the training.
    const double loss = row.result.samples_judged_again > 0 ? 0 : departure_of_loss(mine[i], its[i], its.front().loss);
    // Results of an older version have no sketches.
    const bool has_sketches = sketch_norm(mine[i].sketch) && sketch_norm(its[i].sketch);
    if (check.state == PromiseState::unchecked)
      check.what = has_sketches ? "rounding decides this training" : "its results are of an older version";
    const bool is_decided_by_rounding = known.control[i].loss > kDepartureOfLoss || its[i].loss > its.front().loss || rises({its.data(), i + 1});
    if (is_decided_by_rounding || !has_sketches) return check;
    const Departure control = known.one_later(i);
    const double floor_of_weights = smooth && control.weights <= kGrownDeparture ? kDepartureOfSmoothWeights : kDepartureOfWeights;
    const std::tuple<const char*, double, double> departures[] = {
        {"weights", or_infinite(weights), kDepartureFactor * control.weights + floor_of_weights},
        {"loss", loss, kDepartureFactor * control.loss + kDepartureOfLoss},
        {"statistics", statistics, kDepartureFactor * control.statistics + floor_of_weights},
        {"weights within the epoch", or_infinite(departure_within(mine[i], its[i])),
         kDepartureFactorWithin * std::max(weights, weights_before) + kDepartureOfSmoothWeights}};
    for (const auto& [what, departure, bound] : departures) {
      if (!(departure > bound)) continue;
      const PromiseCheck found{PromiseState::broken, i + 1, what, departure, bound, departure <= kDoubtfulFactor * bound || rises(mine)};
      if (!found.is_doubtful) return found;
      if (check.state != PromiseState::broken) check = found;
    }
    weights_before = weights;
    if (check.state != PromiseState::broken) check = {PromiseState::kept};
  }
  return check;
}

}  // namespace mgcompare
