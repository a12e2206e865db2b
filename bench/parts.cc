// Plants a known delay in one part of each step, and prints by how much each part of the step changes:
//   bench_parts cpu|cuda CONFIG [PAIRS]
// CONFIG gives the network, the optimiser and the precision. Each figure is the median over pairs of trainings, one without and one
// with the delay.

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "base/median.h"
#include "data/load.h"
#include "delayed_platform.h"
#include "modules/platform_host.h"
#include "modules/plugin_host.h"
#include "strategy_plugins.h"
#include "train/training.h"

namespace mgcompare {
namespace {

struct Case {
  const char* what;
  const char* strategy;
  std::size_t devices;
  Delayed part;
  int device = -1;                  // whose rank is delayed; -1: all
  bool captured = true;             // GPUs replay whole steps
};

constexpr Case kCases[] = {
    {"compute", "serial", 1, Delayed::compute},
    {"input", "serial", 1, Delayed::input},
    {"host", "serial", 1, Delayed::host, -1, false},
    {"exchange", "replicated", 2, Delayed::exchange},
    {"compute of rank 1", "replicated", 2, Delayed::compute, 1},
    {"input of rank 1", "replicated", 2, Delayed::input, 1},
    {"host", "replicated", 2, Delayed::host, -1, false},
};

constexpr struct {
  const char* name;
  double (*of)(const RankTimes& times);
} kParts[] = {
    {"compute", [](const RankTimes& times) { return times.compute; }},
    {"optimiser", [](const RankTimes& times) { return times.optimizer; }},
    {"input", [](const RankTimes& times) { return times.input; }},
    {"exchange", [](const RankTimes& times) { return times.exchange; }},
    {"hidden", [](const RankTimes& times) { return times.overlapped; }},
    {"waiting", [](const RankTimes& times) { return times.waiting; }},
    {"strategy", [](const RankTimes& times) { return times.strategy; }},
    {"host", [](const RankTimes& times) { return times.harness; }},
};

// Seconds per step.
struct Step {
  double all = 0;
  std::vector<RankTimes> ranks;
};

Step step_of(const Trial& trial, const Dataset& data, Platform& platform) {
  TrainingRequest request;
  request.trial = &trial;
  request.dataset = &data;
  request.platform = &platform;
  request.numerics.precision = precision_of(trial.config, trial.device_kind);
  request.make = [&](Options& options, const Facts& facts) { return make_strategy(trial.plugin_file, options, facts); };
  const Result result = train(request).result;
  Step step{result.seconds_training / static_cast<double>(result.steps), result.ranks};
  for (RankTimes& times : step.ranks) times *= 1 / static_cast<double>(result.steps);
  return step;
}

void measure(const Case& one, const Config& config, std::size_t batch, const Dataset& data, Platform& platform, int pairs) {
  Trial trial;
  trial.config = config;
  trial.device_kind = platform.kind();
  trial.devices = one.devices;
  trial.global_batch = batch;
  trial.strategy = {one.strategy, one.strategy, {}, {}};
  trial.plugin_file = testing::file_of_plugin(one.strategy);
  DelayedPlatform undelayed(platform, {}, one.captured);
  // Ten microseconds; on a CPU 5 % of a step.
  const auto usual = [&] { return median({step_of(trial, data, undelayed).all, step_of(trial, data, undelayed).all, step_of(trial, data, undelayed).all}); };
  const double planted = platform.kind() == DeviceKind::cuda ? 10e-6 : 0.05 * usual();
  DelayedPlatform delayed(platform, {one.part, planted, one.device}, one.captured);
  std::vector<Step> without, with;
  for (int pair = 0; pair < pairs; ++pair) {
    // In both orders: a machine that becomes slower would otherwise seem to be delayed.
    if (pair % 2 == 1) with.push_back(step_of(trial, data, delayed));
    without.push_back(step_of(trial, data, undelayed));
    if (pair % 2 == 0) with.push_back(step_of(trial, data, delayed));
  }
  const auto change = [&](const auto& figure) {
    std::vector<double> changes;
    for (std::size_t k = 0; k < with.size(); ++k) changes.push_back(figure(with[k]) - figure(without[k]));
    return 1e6 * median(changes);
  };
  std::vector<double> steps;
  for (const Step& step : without) steps.push_back(step.all);
  for (std::size_t rank = 0; rank < one.devices; ++rank) {
    fmt::print("{:<18} {:<10} {:>4} {:>6} {:>6} {:>9.1f} {:>9.1f} {:>9.1f}", one.what, one.strategy, rank, batch, one.captured ? "yes" : "no",
               1e6 * median(steps), 1e6 * planted * delayed.delays_a_step(), change([](const Step& step) { return step.all; }));
    for (const auto& part : kParts) fmt::print(" {:>9.1f}", change([&](const Step& step) { return part.of(step.ranks.at(rank)); }));
    fmt::print("\n");
  }
  std::fflush(stdout);
}

void measure_all(DeviceKind kind, const std::string& path, int pairs) {
  Platform& below = platform(kind);
  const bool is_gpu = kind == DeviceKind::cuda;
  const std::size_t devices = below.devices().size();
  ConfigSetting setting;
  setting.overrides = {"data.set=digits", "data.fallback=none", "schedule.kind=constant",
                       is_gpu ? "data.train_samples=40960" : "data.train_samples=2560", is_gpu ? "epochs=8" : "epochs=3"};
  setting.gpu = is_gpu;
  const Config config = read_config(path, setting);
  const Dataset data = load_dataset(config.data, {}, [](const std::string&) {});
  fmt::print("Microseconds of a step, and the change of each part by the planted delay.\n{:<18} {:<10} {:>4} {:>6} {:>6} {:>9} {:>9} {:>9}", "delay in",
             "strategy", "rank", "batch", "graphs", "step", "planted", "step");
  for (const auto& part : kParts) fmt::print(" {:>9}", part.name);
  fmt::print("\n");
  for (const std::size_t batch : is_gpu ? std::vector<std::size_t>{128, 2048} : std::vector<std::size_t>{128})
    for (const Case& one : kCases)
      if (one.devices <= devices) measure(one, config, batch, data, below, pairs);
}

}  // namespace
}  // namespace mgcompare

int main(int argc, char** argv) {
  using namespace mgcompare;
  const std::string kind = argc > 1 ? argv[1] : "";
  const int pairs = argc > 3 ? std::atoi(argv[3]) : 9;
  if ((kind != "cpu" && kind != "cuda") || argc < 3 || pairs < 1 || pairs > 1000) {
    std::fputs("usage: bench_parts cpu|cuda CONFIG [PAIRS, at most 1000]\n", stderr);
    return 2;
  }
  try {
    measure_all(kind == "cpu" ? DeviceKind::cpu : DeviceKind::cuda, argv[2], pairs);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_parts: %s\n", error.what());
    return 4;
  }
}
