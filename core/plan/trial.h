#pragma once

// One training run. A plan is a list of trials; each trial has one result.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "config/config.h"
#include "mgcompare/types.h"
#include "plan/trait_texts.h"

namespace mgcompare {

struct Facts;

// Identifies a trial. The config is separate because many trials share it.
struct TrialKey {
  int number = 0;                   // assigned by the plan, independent of the order of execution
  int block = 0;                    // from 1; a block has every combination once; 0 for extra runs
  int bracket = 0;                  // number of an extra baseline run (baseline_reruns.h); 0: a trial of a block
  bool control = false;             // an extra baseline run with another order of summation (controls.h)
  bool reference = false;           // the program's own run on one device, in place of a missing baseline (controls.h)
  bool rehearsal = false;           // one device trains as one rank of `devices` would (rehearsals.h)
  std::size_t rehearsed_rank = 0;   // which of them
  StrategyConfig strategy;
  std::string plugin_file;          // shared library of the strategy
  std::string plugin_sha256;        // of that file when the run was planned; empty: any
  // What a backend would train with now, by name. Not stored: results have what they were trained with.
  std::map<std::string, std::string> versions = {};
  DeviceKind device_kind = DeviceKind::cpu;
  std::size_t devices = 1;          // of all hosts together
  std::size_t hosts = 1;            // each with the same number of devices
  std::vector<int> ids = {};        // the devices that the config chose, in the order of the ranks; empty: the first ones
  std::size_t ranks_per_device = 1;
  ScalingMode scaling = ScalingMode::strong;
  std::size_t global_batch = 0;
  std::string network;              // its name; empty: the only one of the experiment
  std::string variant;              // empty: the config without a variant
  std::uint64_t seed = 1;
  std::string data_fingerprint;     // of the data with which the run began; empty: any
  std::string unavailable;          // why it cannot run ("asked 8, have 2"); empty: it can

  std::size_t devices_per_host() const { return devices / hosts; }
  std::size_t ranks() const { return devices * ranks_per_device; }
  bool is_repeat() const { return bracket == 0 && !control && !reference && !rehearsal; }  // of its row, not an extra run
  std::size_t devices_used() const { return rehearsal ? 1 : devices; }
};

struct Trial : TrialKey {
  Config config;                    // with its network only and the variant's overrides applied; of the seeds only the first
  std::vector<int> indices;         // of its devices, chosen when the trial starts; empty: `ids`
  // The strategy's answer when the trial was planned, for epochs of this many steps. Empty: not known.
  TraitTexts traits;
  std::size_t planned_steps = 0;

  int index_of(std::size_t device) const {
    const std::vector<int>& of = indices.empty() ? ids : indices;
    return of.empty() ? static_cast<int>(device) : of.at(device);
  }
};

// The facts that a strategy gets for this trial.
Facts facts_of(const TrialKey& trial, const Config& config, std::size_t training_samples);

// The precision of the config; for `auto`, tf32 on GPUs (what frameworks take by default) and fp32
// on CPUs.
Precision precision_of(const Config& config, DeviceKind kind);

// "4"; on two hosts with two devices each "2x2"; on chosen devices "[0+2]".
std::string devices_number(const TrialKey& trial);

// The name that repeats of a row share, without seed and block: "serial cpu:1 batch 128", and with
// several networks "lenet: serial cpu:1 batch 128".
std::string row_name(const TrialKey& trial);

// Why the plugin's file is not the one that was planned with: it is gone, cannot be read or has changed. Empty if it is that one.
std::string plugin_change(const TrialKey& trial);

std::string_view to_string(DeviceKind kind);
// Throws Error for an unknown kind.
DeviceKind device_kind(std::string_view name);

// JSON for workers and results: the fields of the key, and `config`. from_json throws Error.
void to_json(nlohmann::json& json, const Trial& trial);
void from_json(const nlohmann::json& json, Trial& trial);
void to_json(nlohmann::json& json, const TrialKey& trial);
void from_json(const nlohmann::json& json, TrialKey& trial);

}  // namespace mgcompare
