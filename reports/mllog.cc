#include "reports/mllog.h"

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "reports/json_number.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

using Json = nlohmann::ordered_json;

class Log {
 public:
  explicit Log(double begin) : now_(begin) {}
  void pass(double seconds) { now_ += std::isfinite(seconds) ? seconds : 0; }
  void point(const char* key, const Json& value, const Json& metadata = Json::object()) {
    line("POINT_IN_TIME", key, value, metadata);
  }
  void start(const char* key, const Json& metadata = Json::object()) { line("INTERVAL_START", key, nullptr, metadata); }
  void end(const char* key, const Json& metadata = Json::object()) { line("INTERVAL_END", key, nullptr, metadata); }
  // `epochs`: trained before it, a whole number at the end of an epoch.
  void evaluation(const Json& epochs, double accuracy, double seconds) {
    const Json number_of = {{"epoch_num", epochs}};
    start("eval_start", number_of);
    pass(seconds);
    point("eval_accuracy", json_number(accuracy), number_of);
    end("eval_stop", number_of);
  }
  const std::string& text() const { return text_; }

 private:
  void line(const char* type, const char* key, const Json& value, const Json& metadata) {
    const Json json = {{"namespace", ""},
                       {"time_ms", static_cast<std::int64_t>(std::llround(now_ * 1e3))},
                       {"event_type", type},
                       {"key", key},
                       {"value", value},
                       {"metadata", metadata}};
    text_ += ":::MLLOG " + json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

  double now_;                      // seconds since 1970
  std::string text_;
};

double seconds_of(const std::string& utc) {
  std::tm time{};
  return strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time) == nullptr ? 0 : static_cast<double>(timegm(&time));
}

}  // namespace

std::string mllog(const Run& run, const Row& row) {
  const TrialKey& trial = row.trial;
  const Result& result = row.result;
  const Config& config = *row.config;
  Log log(seconds_of(row.started));
  log.point("submission_benchmark", plain(config.model.name), {{"dataset", plain(run.info.data_name)}});
  log.point("submission_platform", std::to_string(trial.devices) + " x " + std::string(to_string(trial.device_kind)));
  log.point("submission_entry", plain(row_name(trial)));
  log.start("init_start");
  log.point("seed", trial.seed);
  log.point("global_batch_size", trial.global_batch);
  log.point("opt_name", to_string(config.optimizer.kind));
  log.point("opt_base_learning_rate", json_number(config.optimizer.learning_rate));
  log.point("opt_weight_decay", json_number(config.optimizer.weight_decay));
  if (!result.epochs.empty()) log.point("train_samples", result.samples / result.epochs.size());
  log.pass(result.seconds_setup + result.seconds_warm_up);
  log.end("init_stop");
  log.start("run_start");
  for (std::size_t epoch = 0; epoch < result.epochs.size(); ++epoch) {
    const EpochResult& one = result.epochs[epoch];
    const Json number_of = {{"epoch_num", epoch + 1}};
    // Only their sum is known.
    const double evaluation_seconds = one.seconds_evaluation / static_cast<double>(one.evaluations.size() + 1);
    double trained = 0;
    log.start("epoch_start", number_of);
    for (const EvaluationResult& within : one.evaluations) {
      log.pass(within.seconds_training - std::exchange(trained, within.seconds_training));
      log.evaluation(static_cast<double>(epoch) + within.epochs, within.accuracy, evaluation_seconds);
    }
    log.pass(one.seconds_training - trained);
    log.point("train_loss", json_number(one.loss), number_of);
    log.end("epoch_stop", number_of);
    log.evaluation(epoch + 1, one.accuracy, evaluation_seconds);
  }
  const bool is_done = result.status == TrialStatus::done, is_missed = config.target_accuracy > 0 && !(result.seconds_to_target > 0);
  Json how = {{"status", is_done && !is_missed ? "success" : "aborted"}};
  if (!result.cause.empty()) how["cause"] = plain(result.cause);
  else if (is_done && is_missed) how["cause"] = "the target accuracy was not reached";
  log.end("run_stop", how);
  if (has_figures(result)) log.point("throughput", json_number(result.samples_per_second), {{"unit", "samples/s"}});
  return log.text();
}

}  // namespace mgcompare
