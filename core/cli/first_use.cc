#include "cli/first_use.h"

#include <string>

#include <fmt/core.h>

#include "base/print.h"
#include "base/text.h"
#include "cli/experiments.h"
#include "cli/progress_display.h"
#include "plan/plan.h"
#include "services/probe_service.h"

namespace mgcompare {
namespace {

// The experiment of the README.
constexpr char kFirstExperiment[] = "lenet";
constexpr std::size_t kColumns = 80;

std::string devices_text(const PlatformSummary& platform) {
  if (platform.devices.empty()) return fmt::format("{}: {}", platform.kind, plain(platform.problem.empty() ? "none" : platform.problem));
  return fmt::format("{}: {} x {}", platform.kind, platform.devices.size(), plain(platform.devices.front().name));
}

std::string data_text(const Plan& plan) {
  if (!plan.data.place.empty()) return "data in " + plain(plan.data.place);
  if (plan.config.data.fallback == DataFallback::none) return "data: none here; they will be downloaded";
  return fmt::format("data: none here; they will be downloaded, or {} take their place", to_string(plan.config.data.fallback));
}

std::string command_line(const std::string& words, const std::vector<Trial>& trials, const Plan& plan) {
  return fmt::format("  mgcompare {:<24} {}, about {}\n", words, trials.size() == plan.trials.size() ? "the whole comparison" : "one repeat",
                     duration_text(estimate_seconds(trials, plan.data)));
}

// Trains nothing.
std::string proposal() {
  Command first;
  first.name = "run";
  first.target = experiment_file(kFirstExperiment);
  if (first.target.empty()) return "";
  ProbeClient probe(supervisor_settings());
  const Plan plan = make_plan(config_of(first, probe), probe);
  std::string text = "On this machine, begin with\n";
  const std::string one_repeat = fmt::format("seed={}", plan.config.seeds.front());
  const std::vector<Trial> shortest = only(plan, one_repeat);
  if (shortest.size() < plan.trials.size()) text += command_line(fmt::format("{} --only {}", kFirstExperiment, one_repeat), shortest, plan);
  text += command_line(kFirstExperiment, plan.trials, plan);
  for (const PlatformSummary& platform : plan.platforms) text += fmt::format("{}\n", fitting(devices_text(platform), kColumns));
  return text + fmt::format("{}\n", fitting(data_text(plan), kColumns));
}

}  // namespace

int propose_first_command(const Command&) {
  print_stderr("mgcompare: give a config or a command; `mgcompare --help` lists all commands\n");
  try {
    print_stderr("{}", proposal());
  } catch (const Error& error) {
    print_stderr("{} cannot be proposed here: {}\n", kFirstExperiment, plain(error.what()));
  }
  print_stderr("`mgcompare examples` lists the installed experiments\n");
  return kUsage;
}

}  // namespace mgcompare
