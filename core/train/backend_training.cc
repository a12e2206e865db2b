#include "train/backend_training.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "backends/backend_probe.h"
#include "backends/backend_process.h"
#include "backends/description.h"
#include "backends/exported_trial.h"
#include "base/clock.h"
#include "base/median.h"
#include "base/processors.h"
#include "base/sha256.h"
#include "base/text.h"
#include "discovery/manifest.h"
#include "model/preparation.h"
#include "plan/trait_texts.h"
#include "results/cause.h"
#include "results/target_crossing.h"
#include "results/weight_sketch.h"
#include "train/evaluation.h"
#include "train/outcome.h"

namespace mgcompare {
namespace {

constexpr double kEndSeconds = 10;
constexpr double kSecondsBetweenProgress = 1;

// The network on the first device of the trial, with the test samples.
class Evaluator {
 public:
  Evaluator(const BackendRequest& request, const NetworkSpec& spec)
      : samples_(request.dataset.test.samples), device_(open(request)),
        network_(request.platform.build(*device_, spec, request.numerics)),
        batch_(evaluation_batch(spec, request.trial.global_batch / request.trial.ranks() + 1)) {
    network_->reserve(batch_);
    const Config& config = request.trial.config;
    const Preparation preparation = preparation_of(config.data.prepare, as_read(request.dataset.spec, spec));
    feed_ = request.platform.upload(*device_, request.dataset.spec, request.dataset.test, preparation, config.data.on == DataLocation::host);
    std::vector<std::uint32_t> identity(samples_);
    std::iota(identity.begin(), identity.end(), 0u);
    feed_->set_order({identity.data(), identity.size()});
  }

  // The thread that waits for the backend must not be pinned to the processor on which that computes.
  static std::unique_ptr<Device> open(const BackendRequest& request) {
    const KeptProcessors kept;
    return request.platform.open(request.trial.index_of(0));
  }

  Tally run(const BackendWeights& weights) {
    copy_to_device(*device_, network_->weights(), ConstVec(weights.parameters.data(), weights.parameters.size()));
    copy_to_device(*device_, network_->buffers(), ConstVec(weights.buffers.data(), weights.buffers.size()));
    device_->synchronize();
    return evaluate(*network_, *feed_, {0, samples_}, batch_, network_->weights());
  }

 private:
  std::size_t samples_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Network> network_;
  std::size_t batch_;
  std::unique_ptr<Feed> feed_;
};

Manifest manifest_of(const Trial& trial) {
  try {
    return read_manifest(trial.plugin_file);
  } catch (const Error& error) {
    throw Error(fmt::format("{} {}", plain(trial.plugin_file), error.what()));
  }
}

// A new folder for the files of one trial, and an empty one in it for the program to start in.
class TrialFolder {
 public:
  explicit TrialFolder(const std::string& scratch) : path_(scratch + "/trial") {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    std::filesystem::create_directories(empty(), error);
    if (error) throw Error(fmt::format("{} cannot be made: {}; set TMPDIR to a folder with space", plain(path_), error.message()));
  }
  ~TrialFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TrialFolder(const TrialFolder&) = delete;
  TrialFolder& operator=(const TrialFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string empty() const { return path_ + "/empty"; }

 private:
  std::string path_;
};

class BackendTraining {
 public:
  explicit BackendTraining(const BackendRequest& request)
      : request_(request), trial_(request.trial), manifest_(manifest_of(trial_)),
        spec_(make_spec(trial_.config.model, request.dataset.spec, trial_.config.optimizer.decay_biases)), folder_(request.scratch) {}

  Result run() {
    try {
      return run_all();
    } catch (const WrongMessage& wrong) {
      throw Error(fmt::format("the backend {} {}", manifest_.name, wrong.what()));
    }
  }

 private:
  Result run_all() {
    const double start = now();
    set_position(TrialPhase::setup, 0);
    const std::optional<cpu_set_t> processors = processors_of_devices();
    Evaluator evaluator(request_, spec_);
    process_.emplace(manifest_, BackendPlace{trial_.config.python, folder_.empty(), processors});
    const BackendDescription description = describe();
    const ExportedTrial files(trial_, request_.dataset, spec_, option_values(description, trial_.strategy.options), folder_.path(),
                              request_.scratch, request_.initial_weights, request_.numbers);
    process_->send(files.trial_request(id_ = 2));
    note(texts_in(process_->receive("ready", {0, [this] { check_stop(); }}), "notes"));
    result_.seconds_setup = now() - start;
    for (std::size_t epoch = 0; epoch < trial_.config.epochs; ++epoch) train(files, evaluator, epoch);
    end();
    files.expect_same_data();
    // It was compared before the trial, but may have been replaced before it was started.
    if (const std::string change = plugin_change(trial_); !change.empty()) throw Error(change);
    conclude(description);
    return std::move(result_);
  }

  void set_position(TrialPhase phase, std::size_t epoch) {
    phase_ = phase;
    epoch_ = epoch;
    request_.position.set({phase, epoch, 0});
  }

  // On CPUs a device is a core, on which its rank is pinned. A backend gets the cores of all.
  std::optional<cpu_set_t> processors_of_devices() const {
    if (trial_.device_kind != DeviceKind::cpu) return std::nullopt;
    const KeptProcessors kept;
    cpu_set_t all;
    CPU_ZERO(&all);
    for (std::size_t device = 0; device < trial_.devices; ++device) {
      const std::unique_ptr<Device> opened = request_.platform.open(trial_.index_of(device));
      const std::optional<cpu_set_t> of_device = thread_processors();
      if (!of_device) return std::nullopt;
      CPU_OR(&all, &all, &*of_device);
    }
    return all;
  }

  void check_stop() const {
    if (request_.stop()) throw Interrupted();
  }

  // So that the runner knows that the training goes on, however long an epoch takes.
  void report_progress() {
    check_stop();
    if (now() < next_report_) return;
    next_report_ = now() + kSecondsBetweenProgress;
    request_.report({phase_, epoch_, trial_.config.epochs, 0, steps_due(), result_.epochs.empty() ? 0 : result_.epochs.back().loss});
  }

  void note(const std::vector<std::string>& notes) { result_.notes.insert(result_.notes.end(), notes.begin(), notes.end()); }

  std::size_t samples_due() const { return request_.numbers != nullptr ? request_.numbers->size() : request_.dataset.train.samples; }
  std::size_t steps_due() const { return (samples_due() + trial_.global_batch - 1) / trial_.global_batch; }

  BackendDescription describe() {
    process_->send(describe_request(id_ = 1, trial_.strategy.options));
    const nlohmann::json body = process_->receive("description", {kDescribeSeconds, [this] { check_stop(); }});
    BackendDescription description = description_in(body, manifest_.name);
    const StrategySummary summary = summary_of(description, trial_.strategy.options);
    if (!summary.backend.unavailable.empty()) throw EndedAs(TrialStatus::unavailable, summary.backend.unavailable);
    for (const OptionProblem& problem : summary.problems)
      if (!problem.warning) throw Error(fmt::format("{}, option {}: {}", manifest_.name, problem.key, problem.text));
    if (!trial_.traits.empty()) expect_same_traits(manifest_.name, trial_.traits, summary.traits);
    return description;
  }

  nlohmann::json receive_of_epoch(const char* type) {
    nlohmann::json body = process_->receive(type, {0, [this] { report_progress(); }});
    if (count_in(body, "epoch", trial_.config.epochs) != epoch_)
      throw Error(fmt::format("the backend {} sent '{}' of epoch {} in epoch {}", manifest_.name, type, body.at("epoch").get<std::uint64_t>() + 1, epoch_ + 1));
    return body;
  }

  void train(const ExportedTrial& files, Evaluator& evaluator, std::size_t number) {
    set_position(TrialPhase::training, number);
    const nlohmann::json request = files.epoch_request(id_, number);
    const double asked = now(), processors = process_->processor_seconds();
    // It may have trained on while its weights were evaluated.
    const double paused = number == 0 ? 0 : (processors - processors_at_weights_) / static_cast<double>(trial_.devices);
    process_->send(request);
    receive_of_epoch("epoch_begin");
    const double begin = process_->received();
    const EpochReport report = epoch_report_in(receive_of_epoch("epoch_end"));
    const double end = process_->received();
    // On a busy machine the message that the epoch begins may be read late. Then the backend's own time counts, up to that since the request.
    const double seconds = std::max(end - begin, std::min(report.seconds, end - asked));
    // On CPUs a device is a processor. What is more than that is a device more.
    busy_ += process_->processor_seconds() - processors - static_cast<double>(trial_.devices) * (now() - asked);
    result_.seconds_other_threads = std::max(0.0, busy_);
    if (report.steps != steps_due())
      throw Error(fmt::format("in epoch {}, the backend {} made {} steps, but {} samples in batches of {} are {}", number + 1, manifest_.name, report.steps,
                              samples_due(), trial_.global_batch, steps_due()));
    if (!std::isfinite(report.loss)) throw Diverged(fmt::format("in epoch {}, the loss is not finite", number + 1));
    receive_of_epoch("weights");
    const double written = process_->received();
    processors_at_weights_ = process_->processor_seconds();
    set_position(TrialPhase::evaluation, number);
    add_epoch(report, files.read_weights(number), evaluator, seconds, written - asked - seconds + paused, written);
  }

  void add_epoch(const EpochReport& report, const BackendWeights& weights, Evaluator& evaluator, double seconds, double unclocked, double written) {
    const Tally tested = evaluator.run(weights);
    if (!std::isfinite(tested.loss)) throw Diverged(fmt::format("after epoch {}, loss of the evaluation is not finite", epoch_ + 1));
    EpochResult epoch;
    epoch.loss = report.loss;
    epoch.train_accuracy = std::numeric_limits<double>::quiet_NaN();
    epoch.accuracy = static_cast<double>(tested.correct) / static_cast<double>(std::max<std::uint64_t>(1, tested.predictions));
    epoch.test_loss = tested.loss / static_cast<double>(std::max<std::uint64_t>(1, tested.predictions));
    epoch.seconds_training = seconds;
    epoch.seconds_reported = report.seconds;
    epoch.seconds_unclocked = unclocked;
    epoch.seconds_evaluation = now() - written;
    epoch.sketch = sketch_of(weights.parameters);
    if (!weights.buffers.empty()) epoch.statistics_sketch = sketch_of(weights.buffers);
    result_.epochs.push_back(epoch);
    result_.samples += report.samples;
    result_.samples_due += samples_due();
    result_.samples_evaluated = request_.dataset.test.samples;
    result_.steps += report.steps;
    result_.seconds_training += seconds;
    result_.seconds_evaluation += epoch.seconds_evaluation;
    result_.accuracy = epoch.accuracy;
    if (report.steps > 0) step_seconds_.push_back(seconds / static_cast<double>(report.steps));
    result_.seconds_to_target = crossing_of(result_.epochs, trial_.config.target_accuracy).seconds;
    if (epoch_ + 1 == trial_.config.epochs) result_.weights_hash = weights_hash(weights.parameters);
    if (request_.settled) request_.settled(epoch_, weights);
  }

  void end() {
    set_position(TrialPhase::teardown, epoch_);
    process_->send({{"type", "end"}, {"id", id_}});
    const EndReport report = end_report_in(process_->receive("ended", {kEndSeconds, [this] { check_stop(); }}));
    result_.peak_memory = report.peak_memory;
    result_.bytes_per_step = report.bytes_per_step;
    process_->finish(kEndSeconds);
  }

  void conclude(const BackendDescription& description) {
    result_.parameters = spec_.parameters;
    result_.updates = result_.steps;
    result_.step_seconds_median = median(step_seconds_);
    result_.samples_per_second = result_.seconds_training > 0 ? static_cast<double>(result_.samples) / result_.seconds_training : 0;
    const bool local_norm = spec_.buffers > 0 && trial_.config.batch_norm == BatchNormPolicy::local && trial_.ranks() > 1;
    const bool promised = description.traits.promise == Traits::Promise::exact;
    // The masks are drawn in the program and in no file.
    const bool drops = std::any_of(spec_.layers.begin(), spec_.layers.end(), [](const LayerSpec& layer) {
      return layer.config.type == LayerType::dropout && layer.config.rate > 0;
    });
    if (drops && promised) result_.notes.push_back("dropout has the backend's own masks, so the result differs from that of one device here");
    result_.traits = {{"promise", promised && !local_norm && !drops ? "exact" : "approximate"}, {"pace", "lockstep"}, {"models", "one"}, {"role", "contender"}};
    if (local_norm && promised)
      result_.notes.push_back("batch_norm is local: each device normalises its own share, so the result differs from that of one device");
    result_.framework = description.framework;
    result_.framework_version = description.framework_version;
    result_.like = trial_.devices == 1 ? description.summary.like_one : description.summary.like_several;
    result_.versions = {description.summary.versions.begin(), description.summary.versions.end()};
    std::string versions;
    for (const auto& [name, version] : description.summary.versions) versions += fmt::format("{}{} {}", versions.empty() ? "" : ", ", name, version);
    if (!versions.empty()) result_.notes.push_back("trained with " + versions);
    if (trial_.config.evaluate < 1) result_.notes.push_back("evaluated after whole epochs only, because the weights of a backend are read there");
    for (const std::string& difference : description.summary.differs) result_.notes.push_back("differs by design: " + difference);
  }

  const BackendRequest& request_;
  const Trial& trial_;
  Manifest manifest_;
  NetworkSpec spec_;
  TrialFolder folder_;
  std::optional<BackendProcess> process_;
  Result result_;
  std::vector<double> step_seconds_;
  double busy_ = 0;                 // processor seconds beyond those of the devices
  double processors_at_weights_ = 0;
  TrialPhase phase_ = TrialPhase::setup;
  std::size_t epoch_ = 0;
  int id_ = 0;
  double next_report_ = 0;
};

}  // namespace

Result train_backend(const BackendRequest& request) { return BackendTraining(request).run(); }

}  // namespace mgcompare
