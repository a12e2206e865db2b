#pragma once

// Shared by the tests of compressing strategies: tensors with odd shapes, gradients, and properties of a whole
// training.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/spec.h"
#include "modules/strategy_probe.h"
#include "strategy_plugins.h"
#include "training/fixture.h"

namespace mgcompare::testing {

inline std::vector<Part> parts_with(const std::vector<Shape>& shapes) {
  std::vector<Part> parts;
  std::size_t begin = 0;
  for (const Shape& shape : shapes) {
    std::size_t size = 1;
    for (const std::size_t axis : shape) size *= axis;
    parts.push_back({"part" + std::to_string(parts.size()), "layer", shape, {begin, begin + size}, shape.size() > 1});
    begin += size;
  }
  return parts;
}

inline std::vector<Part> lenet_parts() {
  return parts_with({{20, 1, 5, 5}, {20}, {50, 20, 5, 5}, {50}, {500, 800}, {500}, {10, 500}, {10}});
}
inline std::vector<Part> mlp_parts() { return parts_with({{128, 784}, {128}, {64, 128}, {64}, {10, 64}, {10}}); }
// Shapes that divide nothing: columns of less than a word, of just over a word, and of one element.
inline std::vector<Part> odd_parts() { return parts_with({{7, 33}, {7}, {5, 3, 4, 5}, {5}, {1, 100}, {1}, {40, 1}}); }

inline std::size_t size_of(const std::vector<Part>& parts) { return parts.back().range.end; }

inline std::vector<float> gradient_of(std::size_t rank, std::size_t step, std::size_t size) {
  const Random random(7, rank * 1000 + step);
  std::vector<float> gradient(size);
  for (std::size_t i = 0; i < size; ++i) gradient[i] = static_cast<float>(random.normal(i)) + 0.1f * static_cast<float>(rank);
  return gradient;
}

inline std::vector<float> values_of(ConstVec vector) { return {vector.begin(), vector.end()}; }
inline void set(Vec to, const std::vector<float>& from) { std::copy(from.begin(), from.end(), to.begin()); }

inline std::vector<std::string> problems_of(const std::string& plugin, const std::vector<OptionConfig>& settings) {
  Facts facts;
  facts.ranks = 2;
  facts.steps_per_epoch = 10;
  facts.epochs = 2;
  facts.optimizer = "sgd";
  const StrategySummary summary = probe_strategy({file_of_plugin(plugin), {plugin, plugin, settings, {}}, facts});
  std::vector<std::string> texts;
  for (const OptionProblem& problem : summary.problems) texts.push_back(problem.key + ": " + problem.text);
  return texts;
}

inline void expect_resumes(const std::string& plugin, const std::vector<OptionConfig>& settings) {
  Trial trial = small_trial(3, plugin, settings);
  trial.config.epochs = 4;
  trial.config.checkpoint_epochs = 2;
  expect_resumable(trial);
}

// With batches of unequal size and any number of ranks all replicas have the same bits, and each step is one update.
inline void expect_one_model(const std::string& plugin, const std::vector<OptionConfig>& settings) {
  for (const std::size_t ranks : {2u, 3u, 4u, 8u}) {
    Trial trial = small_trial(ranks, plugin, settings);
    trial.global_batch = 61;  // the last batch of 730 samples has 59
    const TrainingOutcome outcome = run(trial, {}, [](TrainingRequest& request) { request.audit = true; });
    ASSERT_FALSE(outcome.weights.empty());
    for (const std::vector<float>& weights : outcome.weights) EXPECT_EQ(weights, outcome.weights[0]) << plugin << ranks;
    EXPECT_EQ(outcome.result.updates, 24u) << plugin << ranks;
    for (const std::uint32_t times : outcome.times_seen) ASSERT_EQ(times, 1u) << plugin << ranks;
  }
}

}  // namespace mgcompare::testing
