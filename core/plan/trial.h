#pragma once

// One training run: what is compared. A plan is a list of these; a result is what came of one.

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "config/config.h"
#include "mgcompare/types.h"

namespace mgcompare {

struct Facts;

// Which trial it is: everything that tells it from the others, without the config, which many of them share.
struct TrialKey {
  int number = 0;                   // fixed when the plan is made; the order of execution is the plan's order
  int block = 0;                    // randomised complete blocks: every combination once a block; 0 of a bracket
  int bracket = 0;                  // the n-th run of a baseline beside the blocks (brackets.h); 0: a trial of a block
  StrategyConfig strategy;
  std::string plugin_file;          // the file that the strategy comes from
  DeviceKind device_kind = DeviceKind::cpu;
  std::size_t devices = 1;
  std::size_t ranks_per_device = 1;
  ScalingMode scaling = ScalingMode::strong;
  std::size_t global_batch = 0;
  std::string variant;              // "" for the config as it is
  std::uint64_t seed = 1;
  std::string data_fingerprint;     // of the data the run began with; empty: any
  std::string unavailable;          // not empty: cannot run, and why ("asked 8, have 2")

  std::size_t ranks() const { return devices * ranks_per_device; }
};

struct Trial : TrialKey {
  Config config;                    // with the variant's overrides applied
  std::vector<int> indices;         // of its devices, chosen when it is run; empty: the first ones

  int index_of(std::size_t device) const { return indices.empty() ? static_cast<int>(device) : indices.at(device); }
};

// What a strategy is told of such a trial.
Facts facts_of(const TrialKey& trial, const Config& config, std::size_t training_samples);

// The arithmetic on such devices: what the config says or, where that is auto, tf32 on GPUs (PyTorch's convolutions and
// JAX's products have it there unless told otherwise) and fp32 on CPUs.
Precision precision_of(const Config& config, DeviceKind kind);

// The name of a row that repeats share: everything but seed and block ("serial cpu:1 batch 128").
std::string row_name(const TrialKey& trial);

std::string_view to_string(DeviceKind kind);
// Throws Error for a kind that does not exist.
DeviceKind device_kind(std::string_view name);

// A trial travels to the worker, and stands in the results, whole: its key's fields and `config`. from_json throws Error.
void to_json(nlohmann::json& json, const Trial& trial);
void from_json(const nlohmann::json& json, Trial& trial);
void to_json(nlohmann::json& json, const TrialKey& trial);
void from_json(const nlohmann::json& json, TrialKey& trial);

}  // namespace mgcompare
