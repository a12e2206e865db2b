#pragma once

// What can be known before the first trial, asked in a probe worker: which devices there are, which plugins, and what each
// strategy says of itself when it is made from its options.

#include <string>
#include <vector>

#include "mgcompare/strategy.h"
#include "config/config.h"

namespace mgcompare {

struct DeviceSummary {
  std::string kind;                 // "cpu", "cuda"
  int index = 0;
  std::string name;
  std::uint64_t memory = 0;
  std::vector<std::string> notes;
  std::string id;                   // the same however the devices are numbered
  std::vector<std::string> problems;
  std::vector<std::string> precisions = {};  // that it computes in; empty: not known
};

// One module of devices: usable with its devices, or the sentence that says why not.
struct PlatformSummary {
  std::string kind;
  std::string problem;              // "no driver: libcuda.so.1 is not there"; empty when usable
  std::vector<DeviceSummary> devices;
  std::vector<std::pair<std::string, std::string>> facts;  // library versions
};

struct PluginSummary {
  std::string name;
  std::string description;
  std::string file;
  std::string problem;              // a refusal, one sentence; empty when usable
};

struct OptionSummary {
  std::string key, type, value, range, help;  // value: the default
};

struct OptionProblem {
  std::string key;                  // empty: of the strategy as a whole
  std::string text;
  bool warning = false;
};

// The answer for one strategy made from its options under given facts.
struct StrategySummary {
  Traits traits;
  std::vector<OptionSummary> options;   // every key that was asked for
  std::vector<OptionProblem> problems;  // unread keys, values that do not fit, refusals, warnings
  std::string crash;                    // not empty: the probe of this strategy died
};

struct ProbeQuestion {
  std::string plugin_file;
  StrategyConfig strategy;
  Facts facts;
};

// Whoever answers what make_plan has to know: a probe worker (probe.h); in tests a table.
class CapabilityProbe {
 public:
  virtual ~CapabilityProbe() = default;
  virtual std::vector<PlatformSummary> platforms() = 0;
  virtual std::vector<PluginSummary> plugins() = 0;
  virtual std::vector<StrategySummary> ask(const std::vector<ProbeQuestion>& questions) = 0;  // answers in order
};

}  // namespace mgcompare
