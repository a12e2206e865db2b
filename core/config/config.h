#pragma once

// The experiment as the user wrote it, checked and with every default filled in. Nothing after `read_config` sees YAML.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mgcompare/batch.h"

namespace mgcompare {

// A place in a file, counted from 1; line 0 where the value is a default or comes from the command line.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

struct InitializerConfig {
  std::string kind = "xavier";      // xavier | glorot_uniform | he_normal | normal | uniform | zeros
  double scale = 0;                 // standard deviation of normal, half width of uniform
};

struct LayerConfig {
  std::string type;                 // conv | max_pool | average_pool | dense | tanh | relu | sigmoid | dropout |
                                    // batch_norm | flatten | add | concat
  std::string name;                 // given, or made: type and number ("conv1")
  std::vector<std::string> inputs;  // names of layers; empty: the layer before (the first layer reads "input")
  std::size_t channels = 0;         // conv: output channels; dense: units
  std::size_t kernel[2] = {0, 0};   // height, width
  std::size_t stride[2] = {1, 1};
  std::size_t padding[2] = {0, 0};
  bool bias = true;
  double rate = 0;                  // dropout: the share that is dropped
  double epsilon = 1e-3;            // batch_norm
  double momentum = 0.99;           // batch_norm: running = momentum * running + (1 - momentum) * batch
  InitializerConfig weights;
  Place place;
};

struct ModelConfig {
  std::string name;                 // "lenet", or the config's name for inline layers
  std::vector<LayerConfig> layers;  // the loss (softmax cross-entropy) is not a layer of the list
};

struct DataConfig {
  std::string set = "mnist";        // mnist | digits
  std::string fallback = "none";    // none | digits: what to do when mnist cannot be had
  std::string on = "device";        // device | host
  std::size_t train_samples = 0;    // the first so many; 0: all
  std::size_t test_samples = 0;
  std::size_t validation_samples = 0;  // the last so many of the training set are evaluated in place of the test set
  double scale = 1.0 / 255;         // a byte times this is an input
};

struct OptimizerConfig {
  std::string kind = "sgd";         // sgd | adam | adagrad | adadelta
  double learning_rate = 0.05;
  double momentum = 0;              // sgd
  bool nesterov = false;            // sgd
  double weight_decay = 0;
  bool decay_biases = false;
  double beta1 = 0.9, beta2 = 0.999;  // adam
  double rho = 0.95;                // adadelta
  double epsilon = 1e-8;            // adam, adagrad, adadelta
};

struct ScheduleConfig {
  std::string kind = "constant";    // constant | step | cosine
  std::vector<double> at;           // step: epochs at which the rate is multiplied by `factor`
  double factor = 0.1;
  double final_rate = 0;            // cosine: the rate at the end of the last epoch
  double warm_up_epochs = 0;        // linear from learning_rate / batch factor to the full rate
  std::string batch_rule = "none";  // none | linear | sqrt: learning rate times (global batch / base_batch) or its root
  std::size_t base_batch = 128;
};

// One option of a strategy: the scalar's text, checked by the strategy itself.
struct OptionConfig {
  std::string key;
  std::string value;
  bool quoted = false;
  Place place;
};

struct StrategyConfig {
  std::string name;                 // the plugin's
  std::string label;                // how the row is called: given by `as:`, else the name
  std::vector<OptionConfig> options;
  Place place;
};

// `cpu:2` or `2`: a count of devices of a kind.
struct DevicesConfig {
  std::string kind;                 // "cpu", "cuda"; "auto" for a plain number: cuda where there is one, else cpu
  std::size_t count = 1;
  Place place;
};

struct ScalingConfig {
  std::string mode = "strong";      // strong: `batch` is the global batch; weak: the batch per device
  bool automatic = true;            // devices: auto
  std::vector<DevicesConfig> devices;
  std::vector<std::size_t> batch = {128};
  std::size_t ranks_per_device = 1;
};

// A named set of overrides; each variant is a row of its own. Keys are dotted paths into the config.
struct VariantConfig {
  std::string name;
  std::map<std::string, std::string> overrides;  // "optimizer.learning_rate" -> "0.07" (YAML text of the value)
  Place place;
};

struct MeasureConfig {
  std::string level = "normal";     // quick | normal | thorough: what a figure may cost; `measure: thorough` for short
  std::size_t warm_up_steps = 3;    // steps on throw-away weights before the clock starts
  double time_limit = 600;          // seconds a trial may take
  bool record = false;              // keep what a replay of free-running ranks needs
};

struct Config {
  std::string name;                 // file stem unless given
  std::string path;                 // as given on the command line
  ModelConfig model;
  DataConfig data;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  std::size_t epochs = 12;
  double target_accuracy = 0;       // 0: none
  std::vector<std::uint64_t> seeds = {1};
  ScalingConfig scaling;
  std::vector<VariantConfig> variants;
  std::vector<StrategyConfig> strategies;
  std::string precision = "auto";   // auto | fp32 | tf32 | bf16
  bool deterministic = false;       // free-running strategies run in virtual time
  std::string batch_norm = "local";  // local | sync
  MeasureConfig measure;
  std::size_t checkpoint_epochs = 0;  // 0: no checkpoints
  std::string isolation = "sweep";  // sweep: one worker for many trials; trial: a fresh worker for each
  std::vector<std::string> plugin_paths;
  bool cut_down_for_cpu = false;    // the `when_cpu:` block was applied
};

// What surrounds a config file.
struct ConfigSetting {
  std::vector<std::string> overrides;  // "optimizer.learning_rate=0.1", in the order of the command line: the last wins
  bool gpu = false;                 // one is there; without it, or for CPU devices alone, `when_cpu:` applies
  std::string share_folder;         // where the installed models/ are; empty: nowhere
};

// Reads, checks and completes. Throws ConfigError (problem.h) with every problem that was found.
Config read_config(const std::string& path, const ConfigSetting& setting = {});

// The config with the overrides of one of its variants; it has no variants itself.
Config apply_variant(const Config& config, const VariantConfig& variant);

// The whole resolved config, in the shape of the YAML; keys that begin with @ (places, the path) are not settings.
// Reading what was written gives an equal config. from_json throws ConfigError.
void to_json(nlohmann::json& json, const Config& config);
void from_json(const nlohmann::json& json, Config& config);

// The resolved config as YAML for readers: every default filled in, layers inline.
std::string resolved_yaml(const Config& config);

// SHA-256 (hexadecimal) over all settings: equal for configs that mean the same, wherever they were read from.
std::string config_hash(const Config& config);

// Whether a config can name a strategy so: letters, digits, _ and -, at most 64.
bool is_strategy_name(const std::string& name);

// The config's name made safe for a folder's: [a-z0-9_-]{1,48}, with part of a hash where characters had to go.
std::string config_slug(const std::string& name);

// Whether a run can be repeated to the bit: its ranks meet in an order that is given (virtual time) or kept for a replay,
// and the kernels are the deterministic ones.
bool is_repeatable(const Config& config);

// Samples that an epoch trains on when the set has `in_set`, without its validation part and what is over the limit.
std::size_t training_samples(const DataConfig& data, std::size_t in_set);

}  // namespace mgcompare
