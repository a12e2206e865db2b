#include "check/verify_backend.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "backends/backend_probe.h"
#include "check/check_names.h"
#include "check/drawn_samples.h"
#include "check/observed_strategy.h"
#include "check/other_samples.h"
#include "check/reference.h"
#include "check/verify_size.h"
#include "check/weight_difference.h"
#include "plan/backend_rows.h"
#include "plan/trait_texts.h"
#include "results/cause.h"
#include "train/backend_training.h"

namespace mgcompare {
namespace {

using Verdict = VerifyFinding::Verdict;

constexpr char kEquals[] = "equals one device after some steps in fp32 (average pooling, tanh for relu if it has them; no dropout)";
constexpr double kLeastDecay = 0.02;  // of a config with weight decay
constexpr char kEqualsLong[] = "equals one device after hundreds of steps in fp32 (average pooling, tanh for relu; no dropout)";
constexpr char kEqualsOwn[] = "equals one device with the batches of the config in fp32 (average pooling, tanh for relu if it has them; no dropout)";
constexpr char kEqualsRates[] = "equals one device with the learning rates of the config in fp32 (average pooling, tanh for relu; no dropout)";
constexpr char kEqualsSchedule[] = "equals one device through the schedule of the config in fp32 (average pooling, tanh for relu; no dropout)";
constexpr char kEqualsAll[] = "equals one device on samples from all of the data in fp32 (average pooling, tanh for relu if it has them; no dropout)";
constexpr char kEqualsAsIs[] = "equals one device after one step of the network as it is in fp32 (no dropout)";
constexpr char kUsesSamples[] = "the weights depend on the samples of two steps";
constexpr char kReportsLoss[] = "reports the mean loss of one device in each epoch";
constexpr std::size_t kBackendEpochs = 4;
constexpr std::size_t kSmallBatch = 4;  // of the long training: many steps of few samples
// Of the trainings with the config's batches: epochs of two full steps and one of a third of a batch. Larger batches would take most of the time.
constexpr std::size_t kFullBatches = 2, kLastStep = 3, kOwnEpochs = 2;
// Of the training with the config's schedule: epochs of two full steps and a short one.
constexpr std::size_t kSamplesOfSchedule = 2 * kSmallBatch + kSmallBatch - 1, kMostScheduleEpochs = 60, kMostScheduleEpochsQuick = 16;
constexpr std::size_t kLargestBatch = 512, kLargestBatchQuick = 128, kMostBatches = 3;
constexpr double kStatisticsLimit = 1e-2;  // weights within their limit change them by less
// Relative to the loss, and absolute near zero. A loss that is summed in another order differs by 1e-6, and weights within their limit change it more.
constexpr double kLossLimit = 1e-2, kFirstLossLimit = 1e-4, kLeastLoss = 0.1;

struct Length {
  const char* check;
  std::size_t epochs, batch, samples;
  bool is_smooth = true;
  bool has_own_rate = false;        // of the config, in place of one that hardly amplifies rounding
  bool has_all_data = false;        // the backend gets all of the data, and the numbers of these samples

  std::size_t steps_per_epoch() const { return divided_up(samples, batch); }
};

// What a training on one device leaves after each epoch.
struct Course {
  std::vector<SettledModel> models;
  std::vector<double> losses;
};

// The largest departure of all epochs.
template <typename T>
struct Largest {
  T figure{};
  double size = 0;
  std::size_t epoch = 0;

  void add(const T& other, double other_size, std::size_t number) {
    if (other_size >= size) *this = {other, other_size, number};
  }
};

class Check {
 public:
  Check(const BackendVerification& of, const VerifyListener& listener) : of_(of), listener_(listener) {}

  void run() {
    const StrategySummary summary = probe_backend({of_.manifest, of_.strategy, {}, of_.config.python}, of_.folder, of_.stop);
    if (!summary.crash.empty()) return report(Verdict::failed, "", 1, "runs", summary.crash);
    if (const std::string& reason = summary.backend.unavailable; !reason.empty()) return report(Verdict::skipped, "", 1, "runs", reason);
    for (const OptionProblem& problem : summary.problems)
      return report(Verdict::failed, "", 1, "runs", fmt::format("option {}: {}", problem.key, problem.text));
    if (summary.traits.most_ranks > 1 && of_.platform.devices().size() < 2)
      report(Verdict::skipped, "", summary.traits.most_ranks, "runs", "several devices are not checked: this process may use one only");
    for (const std::string& optimizer : of_.scope.optimizers)
      for (const int devices : numbers_of_devices(summary.traits)) compare(summary, optimizer, devices, brief());
    const std::string own = optimizer_name(of_.config.optimizer);
    compare(summary, own, *numbers_of_devices(summary.traits).begin(), as_it_is());
    const int most = *numbers_of_devices(summary.traits).rbegin();
    if (of_.dataset.train.samples > of_.scope.samples) compare(summary, own, most, from_all_data());
    for (const Length& length : with_own_batches(static_cast<std::size_t>(most))) compare(summary, own, most, length);
    // Where near-ties amplify rounding, a distance after so many steps says nothing.
    const auto compare_if_smooth = [&](const std::string& optimizer, const Length& length) {
      if (is_smooth(summary.backend)) compare(summary, optimizer, most, length);
      else report(Verdict::skipped, optimizer, most, length.check, "the backend lacks tanh or average_pool");
    };
    if (!is_smooth(summary.backend) || !compare(summary, own, most, with_own_rates())) compare_if_smooth(own, through_schedule());
    for (const std::string& optimizer : std::set{of_.scope.optimizers.front(), own}) compare_if_smooth(optimizer, many_steps());
    // Of an exact one the trainings above say more.
    if (summary.traits.promise != Traits::Promise::exact) check_dependence(summary, own, most);
    for (const std::string& difference : summary.backend.differs) report(Verdict::printed, "", 0, "differs by design", difference);
  }

 private:
  void report(Verdict verdict, const std::string& optimizer, int devices, const std::string& check, const std::string& figure) {
    listener_.found({verdict, of_.strategy.label, check, optimizer, devices, figure});
  }

  Length brief() const { return {kEquals, kBackendEpochs, divided_up(of_.scope.samples, kBackendSteps / kBackendEpochs), of_.scope.samples}; }

  // A backend may keep their numbers in too few bits.
  Length from_all_data() const {
    Length length = brief();
    length.check = kEqualsAll;
    length.has_all_data = true;
    // Its last step has as many samples as that of an epoch of all data: programs may be compiled for these two sizes only.
    length.samples -= (length.samples + length.batch - of_.dataset.train.samples % length.batch) % length.batch;
    return length;
  }

  // Another activation shows in the loss before the first update, and another rate in the first update. After more steps near-ties would amplify
  // rounding.
  Length as_it_is() const { return {kEqualsAsIs, 1, brief().batch, brief().batch, false, true}; }

  Length many_steps() const {
    return {kEqualsLong, divided_up(kLongBackendSteps, divided_up(of_.scope.samples, kSmallBatch)), kSmallBatch, of_.scope.samples};
  }

  Length through_schedule() const {
    return {kEqualsSchedule, std::min(of_.config.epochs, of_.quick ? kMostScheduleEpochsQuick : kMostScheduleEpochs), kSmallBatch, kSamplesOfSchedule};
  }

  Length with_own_rates() const {
    Length length = through_schedule();
    length.check = kEqualsRates;
    length.has_own_rate = true;
    return length;
  }

  // A backend may compute large batches in another way: the largest, the smallest, and one between, of those that the others do not have.
  std::vector<Length> with_own_batches(std::size_t devices) const {
    const std::size_t most = std::min(of_.quick ? kLargestBatchQuick : kLargestBatch, of_.dataset.train.samples / (kFullBatches + 1));
    Sizes batches;
    const auto add = [&](const ScalingConfig& scaling) {
      for (const std::size_t batch : scaling.batch) batches.insert(std::min(most, scaling.mode == ScalingMode::weak ? batch * devices : batch));
    };
    add(of_.config.scaling);
    for (const VariantConfig& variant : of_.config.variants)
      if (variant.config) add(variant.config->scaling);
    std::erase_if(batches, [&](std::size_t batch) { return batch <= brief().batch; });
    std::vector<Length> lengths;
    for (const std::size_t batch : chosen(batches, of_.quick ? 1 : kMostBatches))
      lengths.push_back({kEqualsOwn, kOwnEpochs, batch, kFullBatches * batch + batch / kLastStep});
    return lengths;
  }

  std::set<int> numbers_of_devices(const Traits& traits) const {
    const int most = std::min(traits.most_ranks, static_cast<int>(of_.platform.devices().size()));
    std::set<int> numbers;
    for (const int devices : of_.scope.ranks)
      if (traits.least_ranks <= devices && devices <= most) numbers.insert(devices);
    numbers.insert(std::max(1, traits.least_ranks));
    // The numbers of the scope may all be too large: what is wrong on several devices only must be found nevertheless.
    if (*numbers.rbegin() == 1 && most > 1) numbers.insert(most);
    return numbers;
  }

  // As smooth as the backend's layers allow.
  Config config_with(const std::string& optimizer, const BackendSummary& backend, const Length& length) const {
    Config config = smooth_config(of_.config, optimizer);
    if (length.has_own_rate) config.optimizer.learning_rate = of_.config.optimizer.learning_rate;
    if (length.epochs == 1) config.schedule = {};  // the first rate would be one of a warm-up
    // So that it moves the weights by more than the limit within these steps.
    if (config.optimizer.weight_decay > 0) config.optimizer.weight_decay = std::max(config.optimizer.weight_decay, kLeastDecay);
    for (std::size_t i = 0; i < config.model.layers.size(); ++i)
      if (!length.is_smooth || !has_layer(backend, config.model.layers[i])) config.model.layers[i].type = of_.config.model.layers[i].type;
    return config;
  }

  static bool has_layer(const BackendSummary& backend, const LayerConfig& layer) {
    return std::find(backend.layers.begin(), backend.layers.end(), to_string(layer.type)) != backend.layers.end();
  }

  bool is_smooth(const BackendSummary& backend) const {
    const Config config = smooth_config(of_.config, of_.scope.optimizers.front());
    return std::all_of(config.model.layers.begin(), config.model.layers.end(), [&](const LayerConfig& layer) { return has_layer(backend, layer); });
  }

  Trial trial_of(const std::string& optimizer, int devices, const BackendSummary& backend, const Length& length) const {
    Trial trial;
    trial.strategy = of_.strategy;
    trial.plugin_file = of_.manifest;
    trial.device_kind = of_.scope.device_kind;
    trial.devices = static_cast<std::size_t>(devices);
    trial.global_batch = length.batch;
    trial.seed = of_.scope.seed;
    trial.config = config_with(optimizer, backend, length);
    trial.config.epochs = length.epochs;
    trial.config.precision = Precision::fp32;
    trial.config.measure.warm_up_steps = 0;
    trial.config.measure.level = MeasureLevel::quick;
    trial.config.target_accuracy = 0;
    trial.config.evaluate = 1;
    // Without it several devices normalise their shares by themselves, which one device does not.
    if (devices > 1) trial.config.batch_norm = BatchNormPolicy::sync;
    return trial;
  }

  // `control`: as in TrainingCase.
  Course reference(Trial trial, const Dataset& dataset, const Numerics& numerics, int control) const {
    trial.control = control == 1;
    trial.devices = 1;
    trial.plugin_file.clear();
    trial.strategy.options.clear();
    TrainingRequest request;
    request.trial = &trial;
    request.dataset = &dataset;
    request.platform = &of_.platform;
    request.numerics = numerics;
    std::vector<float> begin = initial_weights(make_spec(trial.config.model, dataset.spec, trial.config.optimizer.decay_biases), trial.seed);
    if (control > 1) begin = nudged_weights(std::move(begin), static_cast<std::uint64_t>(control));
    request.initial_weights = &begin;
    Observation seen(1);
    request.make = [&](Options&, const Facts&) { return observed(make_reference(1), {.keeps_weights = true}, seen); };
    request.stop = of_.stop;
    if (listener_.progress) request.report = listener_.progress;
    Course course;
    for (const EpochResult& epoch : mgcompare::train(request).result.epochs) course.losses.push_back(epoch.loss);
    for (Observation::Epoch& epoch : seen.ranks[0].epochs) course.models.push_back({std::move(epoch.weights), std::move(epoch.buffers), {}});
    return course;
  }

  std::optional<Course> reference_unless_diverged(const Trial& trial, const Dataset& dataset, const Numerics& numerics, int control = 0) const {
    try {
      return reference(trial, dataset, numerics, control);
    } catch (const Diverged&) {
      return {};
    }
  }

  Dataset samples_of(const Length& length) const { return with_drawn_samples(of_.dataset, length.samples, of_.scope.seed); }

  // `settled` gets the weights after each epoch.
  Result train(const Trial& trial, const Dataset& dataset, const Numerics& numerics, const std::function<void(std::size_t, const BackendWeights&)>& settled,
               const std::vector<std::uint32_t>* numbers = nullptr) {
    LivePosition unwanted;
    const auto progress = listener_.progress ? listener_.progress : [](const Progress&) {};
    return train_backend({trial, dataset, of_.platform, numerics, of_.folder, progress, listener_.position != nullptr ? *listener_.position : unwanted,
                          of_.stop, nullptr, settled, numbers});
  }

  // An approximate backend may train less than it says: then it does not notice other samples in some places.
  void check_dependence(const StrategySummary& summary, const std::string& optimizer, int devices) {
    Length length = brief();
    length.epochs = 1;
    const Trial trial = trial_of(optimizer, devices, summary.backend, length);
    if (const std::string missing = missing_in_backend(summary, trial, trial.config); !missing.empty())
      return report(Verdict::skipped, optimizer, devices, kUsesSamples, missing);
    const std::vector<Range> places = places_of_epoch(length.samples, length.batch, of_.scope.seed);
    if (places.empty()) return report(Verdict::skipped, optimizer, devices, kUsesSamples, "an epoch has fewer than four steps");
    if (listener_.training) listener_.training(optimizer, devices);
    try {
      const auto weights_of = [&](const Dataset& dataset) {
        std::vector<float> weights;
        train(trial, dataset, {.precision = Precision::fp32, .deterministic = true},
              [&](std::size_t, const BackendWeights& model) { weights = model.parameters; });
        return weights;
      };
      const Dataset dataset = samples_of(length);
      const std::vector<float> weights = weights_of(dataset);
      if (weights_of(dataset) != weights)
        return report(Verdict::skipped, optimizer, devices, kUsesSamples, "two trainings on the same samples give different bits");
      std::size_t compared = 0;
      for (const Range& place : places) {
        Dataset altered = dataset;
        std::optional<Split> others = with_others(dataset.train, of_.scope.seed, 0, place);
        if (!others) continue;
        altered.train = std::move(*others);
        ++compared;
        if (weights_of(altered) != weights) continue;
        return report(Verdict::failed, optimizer, devices, kUsesSamples,
                      fmt::format("other samples at positions {} to {} of an epoch with batches of {} give the same bits: they are not learned from", place.begin,
                                  place.end - 1, length.batch));
      }
      if (compared == 0) return report(Verdict::skipped, optimizer, devices, kUsesSamples, "all samples are equal");
      report(Verdict::passed, optimizer, devices, kUsesSamples, fmt::format("other samples in {} places give other weights", compared));
    } catch (const Interrupted&) {
      throw;
    } catch (...) {
      report(Verdict::failed, optimizer, devices, "runs", cause_of(std::current_exception()).sentence);
    }
  }

  // Returns false if rounding decides where this training goes, so that not all of its epochs say something.
  bool compare(const StrategySummary& summary, const std::string& optimizer, int devices, const Length& length) {
    const Trial trial = trial_of(optimizer, devices, summary.backend, length);
    if (const std::string missing = missing_in_backend(summary, trial, trial.config); !missing.empty()) {
      report(Verdict::skipped, optimizer, devices, length.check, missing);
      return true;
    }
    if (listener_.training) listener_.training(optimizer, devices);
    try {
      const Numerics numerics{.precision = Precision::fp32, .deterministic = true};
      const Dataset dataset = samples_of(length);
      const std::optional<Course> course = reference_unless_diverged(trial, dataset, numerics);
      if (!course) {
        report(Verdict::skipped, optimizer, devices, length.check, "this training diverges on one device");
        return false;
      }
      const Course& expected = *course;
      const NetworkSpec spec = make_spec(trial.config.model, dataset.spec, trial.config.optimizer.decay_biases);
      // A run evaluates the weights of every epoch.
      std::vector<double> differences;
      std::vector<StatisticsGap> gaps;
      const auto settled = [&](std::size_t epoch, const BackendWeights& model) {
        differences.push_back(largest_difference(expected.models.at(epoch).weights, model.parameters));
        gaps.push_back(statistics_gap(spec, expected.models[epoch].buffers, model.buffers));
      };
      const std::vector<std::uint32_t> numbers = drawn_samples(of_.dataset.train.samples, length.samples, of_.scope.seed);
      const Result result = length.has_all_data ? train(trial, of_.dataset, numerics, settled, &numbers) : train(trial, dataset, numerics, settled);
      const bool is_exact = summary.traits.promise == Traits::Promise::exact;
      const auto judge = [&](const char* check, const std::string& figure, double size, double limit) {
        listener_.found({size <= limit ? Verdict::passed : is_exact ? Verdict::failed : Verdict::printed, of_.strategy.label, check, optimizer, devices, figure, size, limit});
      };
      if (differences.empty()) throw Error("the backend sent no weights");
      const std::vector<double> limits = limits_of(differences, expected, trial, dataset, numerics);
      if (limits.empty()) {
        report(Verdict::skipped, optimizer, devices, length.check, "rounding decides where this training goes");
        return false;
      }
      // The first epoch beyond its limit, or the last one that is judged.
      std::size_t epoch = 0;
      while (epoch + 1 < limits.size() && differences[epoch] <= limits[epoch]) ++epoch;
      const bool is_whole = limits.size() == differences.size();
      const bool is_beyond = differences[epoch] > limits[epoch];
      if (is_beyond && !is_exact)
        report(Verdict::printed, optimizer, devices, "distance from one device (no limit)",
               fmt::format("batch {}: {:.1e} after {} steps", length.batch, differences.back(), differences.size() * length.steps_per_epoch()));
      else
        judge(length.check,
              fmt::format("batch {}: {}", length.batch, difference_text(differences[epoch], limits[epoch], (epoch + 1) * length.steps_per_epoch())),
              differences[epoch], limits[epoch]);
      if (is_beyond) return is_whole;  // the others follow from it
      // Where rounding has grown, it is in these figures, too.
      const auto calm = static_cast<std::size_t>(std::find_if(limits.begin(), limits.end(), [](double limit) { return limit > kBackendLimit; }) - limits.begin());
      if (calm == 0) return is_whole;
      Largest<StatisticsGap> statistics;
      for (std::size_t number = 0; number < calm; ++number) statistics.add(gaps[number], gaps[number].gap, number);
      if (!statistics.figure.layer.empty())
        judge(kStatistics, fmt::format("those of {} differ by {:.1e} of their size after epoch {}, limit {:.0e}", statistics.figure.layer, statistics.size,
                                       statistics.epoch + 1, kStatisticsLimit), statistics.size, kStatisticsLimit);
      Largest<double> losses;
      for (std::size_t number = 0; number < calm; ++number) {
        const double own = result.epochs.at(number).loss, loss = expected.losses.at(number);
        losses.add(own, std::abs(own - loss) / std::max(loss, kLeastLoss), number);
      }
      judge(kReportsLoss, fmt::format("{:.6g} in epoch {}, one device {:.6g}", losses.figure, losses.epoch + 1, expected.losses.at(losses.epoch)), losses.size,
            length.epochs == 1 ? kFirstLossLimit : kLossLimit);
      return is_whole;
    } catch (const Interrupted&) {
      throw;
    } catch (...) {
      const Cause cause = cause_of(std::current_exception());
      // The reference has the batch of all devices on one.
      const bool is_too_large = cause.status == TrialStatus::out_of_memory && length.check == kEqualsOwn;
      const Verdict verdict = cause.status == TrialStatus::unavailable || is_too_large ? Verdict::skipped : Verdict::failed;
      report(verdict, optimizer, devices, is_too_large ? length.check : "runs", cause.sentence);
    }
    return true;
  }

  // How far the weights may be from one device after each epoch that can be judged. Controls are trained only where smaller limits do not suffice.
  std::vector<double> limits_of(const std::vector<double>& differences, const Course& expected, const Trial& trial, const Dataset& dataset,
                                const Numerics& numerics) const {
    std::vector<double> limits(differences.size(), kBackendLimit);
    const auto suffice = [&] { return std::equal(limits.begin(), limits.end(), differences.begin(), std::greater_equal<>()); };
    for (int number = 1; number <= kControls && !suffice(); ++number) {
      const std::optional<Course> control = reference_unless_diverged(trial, dataset, numerics, number);
      if (!control) return {};
      for (std::size_t epoch = 0; epoch < limits.size(); ++epoch)
        limits[epoch] = std::max(limits[epoch], kDriftFactor * largest_difference(expected.models.at(epoch).weights, control->models.at(epoch).weights));
      limits.erase(std::find_if(limits.begin(), limits.end(), [](double limit) { return limit > kLargestLimit; }), limits.end());
    }
    return limits;
  }

  const BackendVerification& of_;
  const VerifyListener& listener_;
};

}  // namespace

void verify_backend(const BackendVerification& of, const VerifyListener& listener) { Check(of, listener).run(); }

}  // namespace mgcompare
