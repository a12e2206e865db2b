#pragma once

// Plans for fake devices and plugins.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "tests/config/workspace.h"

namespace mgcompare {

inline SampleSpec mnist_form() {
  SampleSpec spec;
  spec.shape = {1, 28, 28};
  spec.classes = 10;
  return spec;
}

// A table of fake devices and plugins, with the form of MNIST as data.
class TableProber : public CapabilityProbe {
 public:
  TableProber(std::size_t cores, std::size_t gpus) {
    PlatformSummary cpu{"cpu", "", {}, {}}, cuda{"cuda", gpus ? "" : "no driver", {}, {}};
    cpu.devices.resize(cores);
    cuda.devices.resize(gpus);
    platforms_ = {cpu, cuda};
    for (const std::string name : {"single", "sums", "pair", "own_pace", "cpu_only", "precise"}) {
      plugins_.push_back({name, "does something", "/plugins/" + name + ".so", "", true});
    }
    plugins_.push_back({"cpu_only", "is mine", "/mine/cpu_only.so", "/mine/cpu_only.so is passed over"});
    plugins_.push_back({"foreign", "is the baseline, it says", "/mine/foreign.so", ""});
    plugins_.push_back({"stale", "is old", "/plugins/stale.so", "built for an older program"});
  }
  std::vector<PlatformSummary> platforms() override { return platforms_; }
  std::vector<PluginSummary> plugins() override { return plugins_; }
  std::vector<StrategySummary> ask(const std::vector<ProbeQuestion>& questions) override {
    std::vector<StrategySummary> answers;
    for (const ProbeQuestion& question : questions) answers.push_back(answer(question));
    asked_.insert(asked_.end(), questions.begin(), questions.end());
    return answers;
  }

  DataSummary samples(const Config&) override { return data_; }

  std::vector<ProbeQuestion> asked_;
  DataSummary data_{mnist_form(), 60'000, 10'000};
  std::vector<PlatformSummary> platforms_;
  std::vector<PluginSummary> plugins_;

 private:
  static StrategySummary answer(const ProbeQuestion& question) {
    StrategySummary summary;
    const std::string& name = question.strategy.name;
    if (name == "single") summary.traits.most_ranks = 1, summary.traits.role = Traits::Role::baseline;
    if (name == "foreign") summary.traits.role = Traits::Role::baseline;
    if (name == "pair") summary.traits.least_ranks = 2;
    if (name == "precise") summary.traits.promise = Traits::Promise::exact;
    if (name == "own_pace") summary.traits.pace = Traits::Pace::free;
    if (name == "cpu_only") summary.traits.devices = {DeviceKind::cpu};
    summary.options.push_back({"every", "integer", "1", "", ""});
    for (const OptionConfig& option : question.strategy.options) {
      if (option.key != "every") summary.problems.push_back({option.key, "unknown option '" + option.key + "'"});
      if (option.value == "x") summary.problems.push_back({"every", "'x' is not an integer"});
      if (option.value == "9") summary.problems.push_back({"every", "is a lot", true});
      if (option.value == "8" && question.facts.ranks > 1) summary.problems.push_back({"every", "is too much"});
      if (option.value == "7") summary.crash = "signal 11";
    }
    return summary;
  }
};

class Planning : public Workspace {
 protected:
  Config config(const std::string& text) { return read("layers: [{dense: 10}]\n" + text + "\n"); }
  Plan plan(const std::string& text, std::size_t cores = 4, std::size_t gpus = 0) {
    TableProber probe(cores, gpus);
    return make_plan(config(text), probe);
  }
  std::string refused(const std::string& text) {
    TableProber probe(2, 0);
    try {
      make_plan(config(text), probe);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

inline std::vector<Trial> in_blocks(std::vector<Trial> trials) {
  std::erase_if(trials, [](const Trial& trial) { return trial.bracket > 0; });
  return trials;
}

// The names of a plan's rows, sorted.
inline std::vector<std::string> rows(const Plan& plan) {
  std::vector<std::string> names;
  for (const Trial& trial : in_blocks(plan.trials)) names.push_back(row_name(trial));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace mgcompare
