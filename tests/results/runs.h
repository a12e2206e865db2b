#pragma once

// Synthetic runs: rows with figures that are easy to check.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "reports/comparison.h"
#include "reports/json.h"
#include "results/results_store.h"
#include "results/weight_sketch.h"

namespace mgcompare {

class Folder {
 public:
  Folder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) / (std::string(test->name()) + "." + std::to_string(getpid()));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path(const std::string& name = "") const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

inline Config small_config() {
  Config config;
  config.name = "small";
  config.path = "small.yaml";
  config.model.name = "lenet";
  LayerConfig layer;
  layer.type = LayerType::dense;
  layer.name = "dense1";
  layer.channels = 10;
  config.model.layers.push_back(layer);
  config.target_accuracy = 0.97;
  for (const char* name : {"alone", "together", "apart"}) {
    StrategyConfig strategy;
    strategy.name = strategy.label = name;
    config.strategies.push_back(strategy);
  }
  return config;
}

inline Trial make_trial(int number, const std::string& strategy, std::size_t devices, std::uint64_t seed,
                        std::size_t batch = 128) {
  Trial trial;
  trial.number = number;
  trial.config = small_config();
  trial.strategy.name = trial.strategy.label = strategy;
  trial.plugin_file = "strategy_" + strategy + ".so";
  trial.devices = devices;
  trial.seed = seed;
  trial.block = static_cast<int>(seed);
  trial.global_batch = batch;
  return trial;
}

// Trials whose numbers are not their order.
inline std::vector<Trial> shuffled_plan() {
  return {make_trial(2, "together", 2, 1), make_trial(1, "alone", 1, 1), make_trial(3, "apart", 2, 1)};
}

// The sketch of weights of norm 10, of which the first is moved.
// Each epoch doubles them: a training that changes nothing is marked.
inline std::string weights(double moved, std::size_t epoch = 0) {
  std::vector<float> all(100, 1);
  all[0] += static_cast<float>(moved);
  for (float& one : all) one = std::ldexp(one, static_cast<int>(epoch));
  return sketch_of(all);
}

// A trial with status done: 10 s for two epochs at 1000 samples/s by default.
inline Result make_result(double samples_per_second, double seconds_to_target, double accuracy) {
  Result result;
  const double seconds = 10'000 / samples_per_second;
  for (const double share : {0.9, 1.0}) {
    result.epochs.push_back({.loss = 0.2,
                             .train_accuracy = 0.95,
                             .accuracy = accuracy * share,
                             .seconds_training = seconds / 2,
                             .seconds_evaluation = 0.1});
  }
  result.accuracy = accuracy;
  result.samples_per_second = samples_per_second;
  result.seconds_training = seconds;
  result.seconds_to_target = seconds_to_target;
  result.samples = 10'000;
  result.steps = result.updates = 79;
  result.parameters = 431'080;
  result.bytes_per_step = 1'724'320;
  result.ranks = {
      {.compute = 0.6 * seconds, .exchange = 0.25 * seconds, .waiting = 0.14 * seconds, .harness = 0.01 * seconds}};
  result.traits = {{"promise", "exact"}, {"pace", "lockstep"}, {"models", "one"}, {"role", "contender"}};
  result.weights_hash = std::string(64, 'a');
  return result;
}

// The parts of one step, in milliseconds.
struct Step {
  double compute = 10, exchange = 0, waiting = 0, input = 0;
  double bytes = 0;
};

inline constexpr std::size_t kSteps = 100;

inline Result step_result(const Step& step, std::size_t devices, std::size_t batch = 128) {
  Result result = make_result(1000, 8, 0.98);
  result.steps = kSteps;
  result.bytes_per_step = step.bytes;
  result.seconds_training = (step.compute + step.exchange + step.waiting + step.input) * kSteps / 1e3;
  result.samples = batch * kSteps;
  result.samples_per_second = static_cast<double>(result.samples) / result.seconds_training;
  result.ranks.assign(devices, {.compute = step.compute * kSteps / 1e3,
                                .input = step.input * kSteps / 1e3,
                                .exchange = step.exchange * kSteps / 1e3,
                                .waiting = step.waiting * kSteps / 1e3});
  return result;
}

class RunMaker {
 public:
  RunMaker() {
    run.info.name = "small";
    run.info.data_name = "mnist";
    run.info.data_origin = "/data/mnist";
    run.info.data_fingerprint = std::string(64, 'f');
    run.info.config_yaml = "name: small\n";
    run.info.config_json = R"({"name": "small"})";
    run.info.environment = {{"cpu", "Imaginary 9000"}, {"kernel", "Linux 6.1"}};
  }
  Row& add(const std::string& strategy, std::size_t devices, std::uint64_t seed, const Result& result,
           std::size_t batch = 128) {
    Row row;
    row.position = static_cast<int>(run.rows.size());
    const Trial trial = make_trial(row.position + 1, strategy, devices, seed, batch);
    row.trial = trial;
    row.config = std::make_shared<const Config>(trial.config);
    row.state = RowState::finished;
    row.attempt = 1;
    row.sequence = row.position + 1;
    row.started = "2024-05-01T12:00:00Z";
    row.finished = "2024-05-01T12:00:10Z";
    row.result = result;
    return run.rows.emplace_back(row);
  }
  Row& baseline(std::uint64_t seed, const Result& result, std::size_t batch = 128) {
    Row& row = add("alone", 1, seed, result, batch);
    row.result.traits["role"] = "baseline";
    return row;
  }
  Row& bracket(int number, const Result& result) {
    Row& row = baseline(1, result);
    row.trial.block = 0;
    row.trial.bracket = number;
    return row;
  }
  Row& ceiling(std::size_t devices, std::uint64_t seed, const Result& result) {
    Row& row = add("apart", devices, seed, result);
    row.result.traits["role"] = "ceiling";
    row.result.bytes_per_step = 0;
    row.result.traits["models"] = "many";
    return row;
  }
  Row& failed(const std::string& strategy, std::size_t devices, std::uint64_t seed, const std::string& status,
              const std::string& cause) {
    Result result;
    result.status = trial_status_of(status);
    result.cause = cause;
    return add(strategy, devices, seed, result);
  }

  Run run;
};

// Three seeds each: one device, two devices with exchange (1.6 times as fast), two without.
inline Run three_by_three() {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double noise = 1 + 0.01 * static_cast<double>(seed - 1);
    maker.baseline(seed, make_result(1000 * noise, 8 / noise, 0.985));
    maker.add("together", 2, seed, make_result(1600 * noise, 5 / noise, 0.984));
    maker.ceiling(2, seed, make_result(1900 * noise, 0, 0.97));
  }
  return maker.run;
}

inline std::string json_text(const Run& run) {
  std::string text;
  json_report(compare_rows(run), [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace mgcompare
