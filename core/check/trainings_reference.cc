// What the trainings of strategies are compared with: trainings on one device, and how far rounding moves them.

#include <algorithm>
#include <string>
#include <utility>

#include "check/other_samples.h"
#include "check/reference.h"
#include "check/trainings.h"

namespace mgcompare {
namespace {

// Adam learns the samples nearly by heart: until the mean loss is this, for so many epochs at once, and at most so many times.
constexpr double kFittedLoss = 0.01, kFittingRate = 3e-3;
constexpr std::size_t kFittingEpochs = 20, kMostFittings = 10;

std::vector<SettledModel> settled_models(Observation seen) {
  std::vector<SettledModel> all;
  for (Observation::Epoch& epoch : seen.ranks[0].epochs) all.push_back({std::move(epoch.weights), std::move(epoch.buffers), {}});
  for (auto& [place, weights] : seen.ranks[0].within)
    if (place.first < all.size()) all[place.first].within[place.second] = std::move(weights);
  return all;
}

TrainingCase control_of(TrainingCase of, int control) {
  of.control = control;
  return of;
}

}  // namespace

const std::vector<float>& Trainings::initial(const TrainingCase& of) {
  std::vector<float>& weights = initial_[{of.smooth, of.fitted}];
  if (!weights.empty()) return weights;
  if (!of.fitted) return weights = initial_weights(spec_of(of), scope_.seed);
  const TrainingCase fitting{.optimizer = "adam", .is_brief = true, .smooth = of.smooth};
  Trial trial = trial_of(fitting);
  trial.config.epochs = kFittingEpochs;
  trial.config.optimizer.learning_rate = kFittingRate;
  trial.config.schedule = {};
  TrainingRequest request = request_of(fitting, trial);
  if (blanked_) request.dataset = &*blanked_;
  request.make = [](Options&, const Facts&) { return make_reference(1); };
  for (std::size_t k = 0; k < kMostFittings; ++k) {
    const TrainingOutcome outcome = train(request);
    weights = outcome.weights[0];
    if (outcome.result.epochs.back().loss < kFittedLoss) break;
    request.initial_weights = &weights;
  }
  return weights;
}

Trainings::ReferenceKey Trainings::key_of(const TrainingCase& of, std::size_t shares) {
  return {of.optimizer, shares, of.epochs, of.control, of.is_brief, of.smooth, of.fitted};
}

TrainingCase Trainings::alone(const TrainingCase& of) {
  return {.optimizer = of.optimizer, .is_brief = of.is_brief, .epochs = of.epochs, .smooth = of.smooth, .control = of.control, .fitted = of.fitted};
}

const std::vector<float>& Trainings::reference(const TrainingCase& of, std::size_t shares) {
  std::vector<float>& weights = references_[key_of(of, shares)];
  if (!weights.empty()) return weights;
  weights = run(alone(of), [shares] { return make_reference(shares); }).outcome.weights[0];
  if (of.control <= 1) return weights;
  // What its first weights were nudged by is no rounding of the training.
  const std::vector<float>& begin = initial(of);
  const std::vector<float> nudged = nudged_weights(begin, static_cast<std::uint64_t>(of.control));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= nudged[i] - begin[i];
  return weights;
}

const std::vector<SettledModel>& Trainings::reference_epochs(const TrainingCase& of, std::size_t shares) {
  const ReferenceKey key = key_of(of, shares);
  if (reference_epochs_ && reference_epochs_->first == key) return reference_epochs_->second;
  ObservedTraining training = run(alone(of), [shares] { return make_reference(shares); }, true);
  references_[key] = training.outcome.weights[0];
  return reference_epochs_.emplace(key, settled_models(std::move(training.seen))).second;
}

std::vector<SettledModel> Trainings::control_epochs(const TrainingCase& of, int control) {
  return settled_models(run(alone(control_of(of, control)), [] { return make_reference(1); }, true).seen);
}

std::vector<TensorLimit> Trainings::limits(const TrainingCase& of, double least, int controls) {
  std::vector<TensorLimit> limits;
  for (int control = 1; control <= controls; ++control) {
    const std::vector<TensorLimit> own = limits_of(spec_of(of), reference(of, 1), reference(control_of(of, control), 1), kDriftFactor, least);
    if (limits.empty()) limits = own;
    for (std::size_t i = 0; i < own.size(); ++i) limits[i].limit = std::max(limits[i].limit, own[i].limit);
  }
  return limits;
}

bool Trainings::reference_depends(const TrainingCase& of) {
  const Extent extent = extent_of(scope_, of.optimizer, of.is_brief);
  const Alteration& wanted = *of.alteration;
  const std::size_t size = std::min(extent.batch, scope_.samples - wanted.step % extent.steps_per_epoch * extent.batch);
  const Range part = share(size, static_cast<std::size_t>(wanted.rank), static_cast<std::size_t>(of.ranks));
  const auto own = static_cast<std::size_t>(wanted.place * static_cast<double>(part.size()));
  const double position = static_cast<double>(part.begin + std::min(own, part.size() == 0 ? 0 : part.size() - 1));
  TrainingCase one = alone(of);
  // In the middle of the sample, because it becomes a number again.
  one.alteration = Alteration{0, wanted.epoch, wanted.step % extent.steps_per_epoch, (position + 0.5) / static_cast<double>(size)};
  return run(one, [] { return make_reference(1); }).outcome.weights[0] != reference(of, 1);
}

bool Trainings::has_equal_samples() const { return are_all_equal(dataset_.train); }

std::string Trainings::untrained_tensor(const TrainingCase& of, const std::vector<float>& weights) {
  return mgcompare::untrained_tensor(spec_of(of), initial(of), reference(of, 1), weights);
}

StatisticsGap Trainings::statistics_gap(const TrainingCase& of, const std::vector<float>& expected, const std::vector<float>& buffers) const {
  return mgcompare::statistics_gap(spec_of(of), expected, buffers);
}

double Trainings::control_drift(const TrainingCase& of, int controls) {
  double largest = 0;
  for (int control = 1; control <= controls; ++control)
    largest = std::max(largest, largest_difference(reference(of, 1), reference(control_of(of, control), 1)));
  return largest;
}

}  // namespace mgcompare
