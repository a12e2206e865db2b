#pragma once

// What is known before the first trial: the devices and plugins that were found, and each strategy's traits and options.
// Asked in a probe worker, so that a crash of a plugin or driver does not end the program.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mgcompare/strategy.h"
#include "config/config.h"
#include "config/sample_spec.h"

namespace mgcompare {

struct DeviceSummary {
  std::string kind;                 // "cpu", "cuda"
  int index = 0;
  std::string name;
  std::uint64_t memory = 0;
  std::vector<std::string> notes;
  std::string id;                   // independent of the numbering of devices
  std::vector<std::string> problems;
  std::vector<std::string> precisions = {};  // supported values of numerics.precision; empty: unknown
};

// One platform module: its devices, or the reason why it cannot be used.
struct PlatformSummary {
  std::string kind;
  std::string problem;              // "no driver: libcuda.so.1 is not there"; empty if usable
  std::vector<DeviceSummary> devices;
  std::vector<std::pair<std::string, std::string>> facts;  // library versions
};

struct PluginSummary {
  std::string name;
  std::string description;
  std::string file;
  std::string problem;              // why it is refused, one sentence; empty if usable
  bool is_own = false;              // it comes with the program
};

struct OptionSummary {
  std::string key, type, value, range, help;  // value: the default
};

struct OptionProblem {
  std::string key;                  // empty: concerns the strategy as a whole
  std::string text;
  bool warning = false;
  bool of_plugin = false;           // the plugin cannot be used, whatever its options are
};

// What is known of a backend besides its traits. Empty for a strategy.
struct BackendSummary {
  std::string unavailable;          // why its rows cannot run on this machine; empty: they can
  std::vector<std::pair<std::string, std::string>> versions;
  std::vector<std::string> device_kinds, layers, optimizers;  // that it supports; some may be unknown here
  std::map<std::string, std::vector<std::string>> precisions;  // that it supports, by kind of device
  std::vector<std::string> differs; // what it does in another way by design
  // The strategy that computes a row with these options in the same way, on one device and on several; empty: none is known.
  std::string like_one, like_several;
};

// The answer for one strategy, created from its options with given facts.
struct StrategySummary {
  Traits traits;
  std::vector<OptionSummary> options;   // every option that the strategy reads
  std::vector<OptionProblem> problems;  // unknown keys, invalid values, refusals, warnings
  std::string crash;                    // how the probe worker ended while it created the strategy; empty: it did not
  BackendSummary backend = {};
};

struct ProbeQuestion {
  std::string plugin_file;
  StrategyConfig strategy;
  Facts facts;
  std::string python = {};          // `python:` of the config
};

// Answers the questions of make_plan: a probe worker (services/probe_service.h), or a table in tests.
class CapabilityProbe {
 public:
  virtual ~CapabilityProbe() = default;
  virtual std::vector<PlatformSummary> platforms() = 0;
  virtual std::vector<PluginSummary> plugins() = 0;
  // What the config's data set has. Throws Error if it is missing or wrong.
  virtual DataSummary samples(const Config& config) = 0;
  virtual std::vector<StrategySummary> ask(const std::vector<ProbeQuestion>& questions) = 0;  // answers in order
};

}  // namespace mgcompare
