#pragma once

// The checked experiment with all defaults filled in. Code after `read_config` does not see YAML.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/kinds.h"
#include "mgcompare/batch.h"

namespace mgcompare {

// Position in a file, counted from 1; line 0 for a default or a value from the command line.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

struct InitializerConfig {
  InitializerKind kind = InitializerKind::xavier;
  double scale = 0;                 // normal: standard deviation; uniform: half width
};

struct LayerConfig {
  LayerType type = LayerType::conv;
  std::string name;                 // given, or generated from type and number ("conv1")
  std::vector<std::string> inputs;  // names of layers; empty: the previous layer (the first layer reads "input")
  std::size_t channels = 0;         // conv: output channels; dense, embedding, gru, lstm: units
  std::size_t kernel[2] = {0, 0};   // height, width
  std::size_t stride[2] = {1, 1};
  std::size_t padding[2] = {0, 0};
  bool bias = true;
  double rate = 0;                  // dropout: fraction of values that is dropped
  double epsilon = 1e-3;            // batch_norm; layer_norm: 1e-5
  double momentum = 0.99;           // batch_norm: running = momentum * running + (1 - momentum) * batch
  InitializerConfig weights;
  std::optional<double> weight_decay;  // of this layer's weights; empty: the optimiser's
  bool per_position = false;        // dense: applied at each position of a sequence
  std::size_t tokens = 0;           // embedding, one_hot: different tokens; 0: those of the data
  std::size_t radius = 0;           // lrn: channels on each side
  double alpha = 1e-4, beta = 0.75, offset = 1;  // lrn
  bool return_sequences = false;    // gru, lstm: give every position's state, not the last one
  Place place;
};

struct ModelConfig {
  std::string name;                 // "lenet"; for inline layers without `model`, the config's name
  std::vector<LayerConfig> layers;  // without the loss (softmax cross-entropy)
};

// From a stored value to an input of the network: (value * scale - mean) / std, after cropping and flipping.
struct PreparationConfig {
  double scale = 0;                 // 0: 1/255 for bytes, 1 for other numbers
  std::vector<double> mean, std;    // for each channel, or one for all; empty: 0 and 1
  bool flip = false;                // mirror every second training image, by chance, from left to right
  std::size_t crop_padding = 0;     // pixels by which a training image is shifted at most; what moves in is 0
};

struct DataConfig {
  DataSource set = DataSource::mnist;
  DataFallback fallback = DataFallback::none;
  DataLocation on = DataLocation::device;
  std::string path;                 // of the set's file or folder; absolute, or relative to the current folder
  std::string validation;           // tokens, text: a file; text: or a share of the text
  std::size_t length = 0;           // tokens, text: inputs of a sample; 0: those of the first line
  std::size_t classes = 0;          // 0: those in the data
  std::vector<std::size_t> shape;   // synthetic
  std::size_t samples = 0;          // synthetic: training samples
  TargetKind target = TargetKind::automatic;
  std::size_t train_samples = 0;    // use the first N; 0: all
  std::size_t test_samples = 0;
  std::size_t validation_samples = 0;  // evaluate on the last N training samples instead of the test set; 0: no
  PreparationConfig prepare;
  std::map<std::string, Place> places;  // of the keys in the file ("crop.padding"), and of the section: ""; not stored
};

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::sgd;
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
  ScheduleKind kind = ScheduleKind::constant;
  std::vector<double> at;           // step: epochs at which the learning rate is multiplied by `factor`, ascending
  double factor = 0.1;
  double final_rate = 0;            // cosine: learning rate at the end of the last epoch
  double warm_up_epochs = 0;        // linear increase of the learning rate; it begins at `learning_rate` if the batch rule
                                    // raises the rate, otherwise at 0
  BatchRule batch_rule = BatchRule::none;  // factor of the learning rate: 1, global batch / base_batch, or its root
  std::size_t base_batch = 128;
};

// One option of a strategy: the text of the scalar. The strategy itself checks it.
struct OptionConfig {
  std::string key;
  std::string value;
  bool quoted = false;
  Place place;                      // of the value
  Place key_place;
};

struct StrategyConfig {
  std::string name;                 // of the plugin
  std::string label;                // of the row: given by `as:`, otherwise the name
  std::vector<OptionConfig> options;
  Place place;
};

// `cpu:2` or `2`: a number of devices of one kind; `2x4`: four on each of two hosts; `{ids: [0, 2]}`: these devices. `{auto: [2, 4]}`: such numbers,
// as far as the machine has as many.
struct DevicesConfig {
  std::string kind;                 // "cpu", "cuda"; "auto" for a plain number: cuda if available, otherwise cpu
  std::size_t count = 1;            // on all hosts together
  std::size_t hosts = 1;
  std::vector<int> ids;             // which ones, in the order of the ranks; empty: the first ones
  bool if_present = false;          // has no row where there are fewer; otherwise the row is unavailable there
  Place place;
};

struct ScalingConfig {
  ScalingMode mode = ScalingMode::strong;  // strong: `batch` is the global batch; weak: the batch per device
  bool automatic = true;            // devices: auto
  std::vector<DevicesConfig> devices;
  std::vector<std::size_t> batch = {128};
  std::size_t ranks_per_device = 1;
};

struct HostsConfig {
  HostLauncher launcher = HostLauncher::automatic;
  std::vector<std::string> names;   // in the order in which trials use them; the first is this machine; empty: this machine alone
  double timeout = 10;              // seconds after which a host that does not answer is lost
};

struct Config;

// A named set of overrides; each variant has rows of its own.
struct VariantConfig {
  std::string name;
  std::map<std::string, std::string> overrides;  // dotted key -> YAML text: "optimizer.learning_rate" -> "0.07"
  Place place;
  std::shared_ptr<const Config> config;  // with the overrides applied, without variants, with all networks
};

struct MeasureConfig {
  MeasureLevel level = MeasureLevel::normal;  // how much time to spend; `measure: thorough` sets it too
  std::size_t warm_up_steps = 3;    // warm-up steps on weights that are discarded
  double time_limit = 600;          // seconds per trial
  double progress_limit = 120;      // seconds without progress after the data are loaded
  double memory_limit = 0;          // GiB per trial on CPUs; 0: 80 % of the free memory
  bool record = false;              // write the schedule log that a replay of free-running ranks needs
  Rehearse rehearse = Rehearse::automatic;  // rows on more devices, by one
};

struct Config {
  std::string name;                 // file stem unless given
  std::string path;                 // as given on the command line
  ModelConfig model;
  std::vector<ModelConfig> models;  // if there are several networks: all of them, of which `model` is the first
  DataConfig data;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  std::size_t epochs = 12;
  double evaluate = 1;              // epochs between evaluations, at most 1
  double target_accuracy = 0;       // 0: none
  double price_per_device_hour = 0; // in any currency; 0: none
  std::vector<std::uint64_t> seeds = {1};
  ScalingConfig scaling;
  HostsConfig hosts;
  std::vector<VariantConfig> variants;
  std::vector<StrategyConfig> strategies;
  Precision precision = Precision::automatic;
  KernelChoice kernels = KernelChoice::fused;
  bool deterministic = false;       // free-running strategies run in virtual time
  BatchNormPolicy batch_norm = BatchNormPolicy::local;
  MeasureConfig measure;
  std::size_t checkpoint_epochs = 0;  // 0: no checkpoints
  Isolation isolation = Isolation::sweep;  // sweep: one worker for many trials; trial: a new worker for each
  std::vector<std::string> plugin_paths;
  std::string python;               // the interpreter of backends, a path or a name on PATH; empty: python3
  bool cut_down_for_cpu = false;    // the `when_cpu:` section was applied
};

// A path for read_config: the text comes from standard input. Relative paths in it begin at the current folder.
inline constexpr char kStandardInput[] = "<stdin>";

// Inputs of read_config besides the file.
struct ConfigSetting {
  std::vector<std::string> overrides;  // "optimizer.learning_rate=0.1", in the order of the command line; the last wins
  bool gpu = false;                 // a GPU is available; `when_cpu:` applies without one, or if only CPU devices are named
  std::string share_folder;         // parent of the installed models/; empty: none
};

// Text -> tree (yaml_guard.h) -> Config (config_reader.h). Throws ConfigError (problem.h) with all problems found.
Config read_config(const std::string& path, const ConfigSetting& setting = {});

// The config of one of its variants; for a default VariantConfig, the config itself. The result has no variants.
Config apply_variant(const Config& config, const VariantConfig& variant);

// The networks of a config, in its order; one or more.
std::vector<ModelConfig> networks_of(const Config& config);
// The config with this network only.
Config with_network(Config config, const ModelConfig& model);

// The whole resolved config, in the shape of the YAML; keys that begin with @ (places, the path) are not settings.
// Writing and reading again gives an equal config. from_json throws ConfigError.
void to_json(nlohmann::json& json, const Config& config);
void from_json(const nlohmann::json& json, Config& config);

// The resolved config as YAML: all defaults filled in, layers inline.
std::string resolved_yaml(const Config& config);

// SHA-256 (hexadecimal) over all settings but the price, hosts.launcher and hosts.timeout: equal for configs with equal settings, whatever file they come from.
std::string config_hash(const Config& config);

// Whether a config accepts this name of a strategy: letters, digits, _ and -, at most 64.
bool is_strategy_name(const std::string& name);

// The config's name as a folder name: [a-z0-9_-]{1,48}; with part of a hash if characters were replaced.
std::string config_slug(const std::string& name);

// Whether a run is reproducible bit by bit: the order of its ranks is fixed (virtual time) or recorded for a replay, and
// kernels are deterministic.
bool is_repeatable(const Config& config);

// `data.validation` as a share of the text; nothing if it is not a number.
std::optional<double> validation_share(const DataConfig& data);

// Where a key of `data` is in the file; the place of the section if it is not there, or the file.
Place place_of_data(const Config& config, const std::string& key = "");

// Training samples of an epoch, if the set has `in_set`: without the validation samples, and limited to `train_samples`.
std::size_t training_samples(const DataConfig& data, std::size_t in_set);

}  // namespace mgcompare
