#include "config/keys.h"

#include <algorithm>
#include <type_traits>

namespace mgcompare {
namespace {

static_assert(std::is_same_v<std::uint64_t, std::size_t>, "seeds use the field type of other lists of whole numbers");

constexpr double kMany = 1e9;
constexpr double kMaxPath = 4096;  // characters, as in Linux
constexpr double kMaxExactInteger = 9007199254740991;  // 2^53 - 1: JSON readers store numbers as double

using Text = std::string& (*)(Config&);
using Number = double& (*)(Config&);
using Count = std::size_t& (*)(Config&);
using Flag = bool& (*)(Config&);
using Numbers = std::vector<double>& (*)(Config&);
using Counts = std::vector<std::size_t>& (*)(Config&);
using Texts = std::vector<std::string>& (*)(Config&);

// `access` returns a reference to an enum of kinds.h.
template <class Access> Choice choice(Access) {
  using E = std::remove_cvref_t<std::invoke_result_t<Access, Config&>>;
  return {kKindNames<E>, [](Config& config) { return static_cast<std::size_t>(Access()(config)); },
          [](Config& config, std::size_t index) { Access()(config) = static_cast<E>(index); }};
}

std::vector<Key> make_keys() {
  return {
      {.name = "name",
       .help = "Name of the experiment in results; default: the name of the file.",
       .field = Text([](Config& c) -> std::string& { return c.name; }),
       .varies = false},
      {.name = "model",
       .help = "The network: NAME of models/NAME.yaml beside the config or among the installed ones, or a path "
               "that ends in .yaml. With `layers` it is only a name.",
       .varies = false},
      {.name = "models",
       .help = "Several networks in place of one: a list of names and paths as of `model`, or of {name: X, layers: [...]}. Each has rows, "
               "a baseline and a part of the report of its own.",
       .varies = false},
      {.name = "layers",
       .help = "The network as a list of layers, without the loss (softmax cross-entropy).",
       .varies = false},

      {.name = "data.set",
       .help = "The data set: mnist and cifar10 are found or downloaded; digits are drawn; idx, npy, tokens and text are files of "
               "yours at `path`; synthetic samples are drawn in any `shape`.",
       .field = choice([](Config& c) -> auto& { return c.data.set; }),
       .varies = false},
      {.name = "data.fallback",
       .help = "What to train on if the data set is not available: the drawn digits (for mnist) or synthetic samples of the same "
               "form; none: the run ends with an error.",
       .field = choice([](Config& c) -> auto& { return c.data.fallback; }),
       .varies = false},
      {.name = "data.path",
       .help = "File (tokens, text) or folder (the others) of the data; a relative path starts at the config's folder.",
       .field = Text([](Config& c) -> std::string& { return c.data.path; }),
       .max = kMaxPath,
       .varies = false},
      {.name = "data.validation",
       .help = "tokens, text: the file to evaluate on; text: or the share of the text to hold back at its end, such as 0.1.",
       .field = Text([](Config& c) -> std::string& { return c.data.validation; }),
       .max = kMaxPath,
       .varies = false},
      {.name = "data.length",
       .help = "tokens, text: inputs of a sample; 0: one less than the integers of the first line.",
       .field = Count([](Config& c) -> std::size_t& { return c.data.length; }),
       .max = 1e6,
       .varies = false},
      {.name = "data.classes",
       .help = "Number of classes, or of different tokens; 0: as many as the data have.",
       .field = Count([](Config& c) -> std::size_t& { return c.data.classes; }),
       .max = 1 << 24,
       .varies = false},
      {.name = "data.target",
       .help = "tokens, text: predict the token after the sequence (last) or after each of its positions (next); auto: last for "
               "tokens, next for text.",
       .field = choice([](Config& c) -> auto& { return c.data.target; }),
       .varies = false},
      {.name = "data.shape",
       .help = "synthetic: the shape of a sample, such as [3, 224, 224].",
       .field = Counts([](Config& c) -> std::vector<std::size_t>& { return c.data.shape; }),
       .min = 1,
       .max = 1e6,
       .varies = false,
       .repeats = true},
      {.name = "data.samples",
       .help = "synthetic: training samples; there is one test sample for every eight.",
       .field = Count([](Config& c) -> std::size_t& { return c.data.samples; }),
       .max = kMany,
       .unit = "samples",
       .varies = false},
      {.name = "data.on",
       .help = "Where samples are stored: in device memory, or in host memory with double buffering.",
       .field = choice([](Config& c) -> auto& { return c.data.on; })},
      {.name = "data.train_samples",
       .help = "Use only the first N training samples; 0: all.",
       .field = Count([](Config& c) -> std::size_t& { return c.data.train_samples; }),
       .max = kMany,
       .unit = "samples"},
      {.name = "data.test_samples",
       .help = "Use only the first N test samples; 0: all.",
       .field = Count([](Config& c) -> std::size_t& { return c.data.test_samples; }),
       .max = kMany,
       .unit = "samples"},
      {.name = "data.validation_samples",
       .help = "Hold back the last N training samples and evaluate on them instead of the test "
               "set; 0: none.",
       .field = Count([](Config& c) -> std::size_t& { return c.data.validation_samples; }),
       .max = kMany,
       .unit = "samples"},
      {.name = "data.scale",
       .help = "Factor from a stored value to an input of the network; 0: 1/255 for bytes, 1 for other numbers.",
       .field = Number([](Config& c) -> double& { return c.data.prepare.scale; }),
       .max = 1e6},
      {.name = "data.mean",
       .help = "Subtracted from the scaled values: one number, or one for each channel.",
       .field = Numbers([](Config& c) -> std::vector<double>& { return c.data.prepare.mean; }),
       .min = -1e9,
       .max = kMany,
       .repeats = true},
      {.name = "data.std",
       .help = "Divides the values after `mean` was subtracted: one number, or one for each channel.",
       .field = Numbers([](Config& c) -> std::vector<double>& { return c.data.prepare.std; }),
       .min = 1e-9,
       .max = kMany,
       .repeats = true},
      {.name = "data.flip",
       .help = "Mirror training images from left to right, half of them by chance in each epoch.",
       .field = Flag([](Config& c) -> bool& { return c.data.prepare.flip; })},
      {.name = "data.crop.padding",
       .help = "Shift training images by chance, by up to so many pixels in each direction; what moves in is 0.",
       .field = Count([](Config& c) -> std::size_t& { return c.data.prepare.crop_padding; }),
       .max = 1024,
       .unit = "pixels"},

      {.name = "optimizer.kind",
       .help = "The update rule.",
       .field = choice([](Config& c) -> auto& { return c.optimizer.kind; })},
      {.name = "optimizer.learning_rate",
       .help = "Learning rate before schedule and batch rule.",
       .field = Number([](Config& c) -> double& { return c.optimizer.learning_rate; }),
       .min = 1e-12,
       .max = kMany},
      {.name = "optimizer.momentum",
       .help = "sgd: momentum. The velocity becomes momentum times itself plus the learning rate times the gradient, and is subtracted from the weights.",
       .field = Number([](Config& c) -> double& { return c.optimizer.momentum; }),
       .max = 0.999999},
      {.name = "optimizer.nesterov",
       .help = "sgd: Nesterov momentum.",
       .field = Flag([](Config& c) -> bool& { return c.optimizer.nesterov; })},
      {.name = "optimizer.weight_decay",
       .help = "L2 penalty: this times the weight is added to its gradient.",
       .field = Number([](Config& c) -> double& { return c.optimizer.weight_decay; }),
       .max = 1000},
      {.name = "optimizer.decay_biases",
       .help = "Whether weight decay applies to biases, too.",
       .field = Flag([](Config& c) -> bool& { return c.optimizer.decay_biases; })},
      {.name = "optimizer.beta1",
       .help = "adam: decay rate of the mean of gradients.",
       .field = Number([](Config& c) -> double& { return c.optimizer.beta1; }),
       .max = 0.999999999},
      {.name = "optimizer.beta2",
       .help = "adam: decay rate of the mean of squared gradients.",
       .field = Number([](Config& c) -> double& { return c.optimizer.beta2; }),
       .max = 0.999999999},
      {.name = "optimizer.rho",
       .help = "adadelta: decay rate of both means of squares.",
       .field = Number([](Config& c) -> double& { return c.optimizer.rho; }),
       .max = 0.999999999},
      {.name = "optimizer.epsilon",
       .help = "adam, adagrad, adadelta: added to divisors to avoid division by zero.",
       .field = Number([](Config& c) -> double& { return c.optimizer.epsilon; }),
       .min = 1e-30,
       .max = 1},

      {.name = "schedule.kind",
       .help = "How the learning rate changes over the epochs.",
       .field = choice([](Config& c) -> auto& { return c.schedule.kind; })},
      {.name = "schedule.at",
       .help = "step: epochs at which the learning rate is multiplied by `factor`.",
       .field = Numbers([](Config& c) -> std::vector<double>& { return c.schedule.at; }),
       .max = 1e6,
       .unit = "epochs"},
      {.name = "schedule.factor",
       .help = "step: factor of the learning rate.",
       .field = Number([](Config& c) -> double& { return c.schedule.factor; }),
       .max = 100},
      {.name = "schedule.final_rate",
       .help = "cosine: learning rate at the end of the last epoch.",
       .field = Number([](Config& c) -> double& { return c.schedule.final_rate; }),
       .max = kMany},
      {.name = "schedule.warm_up_epochs",
       .help = "Linear warm-up of the learning rate, from that of one base batch to its full "
               "value, over N epochs.",
       .field = Number([](Config& c) -> double& { return c.schedule.warm_up_epochs; }),
       .max = 1e6,
       .unit = "epochs"},
      {.name = "schedule.batch_rule",
       .help = "How the learning rate scales with the global batch: not at all, linearly, or with its "
               "square root.",
       .field = choice([](Config& c) -> auto& { return c.schedule.batch_rule; })},
      {.name = "schedule.base_batch",
       .help = "Global batch at which `batch_rule` does not change the learning rate.",
       .field = Count([](Config& c) -> std::size_t& { return c.schedule.base_batch; }),
       .min = 1,
       .max = kMany,
       .unit = "samples"},

      {.name = "epochs",
       .help = "Passes over the training samples.",
       .field = Count([](Config& c) -> std::size_t& { return c.epochs; }),
       .min = 1,
       .max = 1e6,
       .unit = "epochs"},
      {.name = "evaluate",
       .help = "Epochs between evaluations; 0.25: four in each epoch, outside of the training clock. Ranks that run freely, and backends, are evaluated after "
               "whole epochs.",
       .field = Number([](Config& c) -> double& { return c.evaluate; }),
       .min = 0.001,
       .max = 1,
       .unit = "epochs"},
      {.name = "target_accuracy",
       .help = "Report the training time until this accuracy is reached; 0: none.",
       .field = Number([](Config& c) -> double& { return c.target_accuracy; }),
       .max = 1},
      {.name = "price_per_device_hour",
       .help = "Price of one device for one hour, in any currency; reports then have the cost of each row. 0: none. It changes no trial: "
               "a run can be resumed with another price.",
       .field = Number([](Config& c) -> double& { return c.price_per_device_hour; }),
       .max = 1e9,
       .varies = false},
      {.name = "seeds",
       .help = "Repeats: one block of all trials for each seed of the list. [1, 2, 3]: three repeats; 3 alone: one repeat with the seed 3.",
       .field = Counts([](Config& c) -> std::vector<std::size_t>& { return c.seeds; }),
       .max = kMaxExactInteger,
       .varies = false},

      {.name = "scaling.mode",
       .help = "strong: `batch` is the global batch, divided among the devices; weak: `batch` is that of each device.",
       .field = choice([](Config& c) -> auto& { return c.scaling.mode; })},
      {.name = "scaling.devices",
       .help = "auto: 1, 2, 4 ... up to the number of devices; or counts: 2, cpu:2, cuda:4, or a list, with unavailable rows where there are fewer; "
               "{auto: [1, 3, 8]} in place of a count: those of these that the machine has; 2x4: four on each of two hosts; "
               "{ids: [0, 2]}: these devices, as rows of their own."},
      {.name = "scaling.batch",
       .help = "Batch sizes.",
       .field = Counts([](Config& c) -> std::vector<std::size_t>& { return c.scaling.batch; }),
       .min = 1,
       .max = 1e7,
       .unit = "samples"},
      {.name = "scaling.ranks_per_device",
       .help = "Ranks that share a device; more than 1 is for tests, not for speed.",
       .field = Count([](Config& c) -> std::size_t& { return c.scaling.ranks_per_device; }),
       .min = 1,
       .max = 64},

      {.name = "hosts.launcher",
       .help = "Who starts the workers of other hosts: slurm, inside an allocation; mpirun, by ssh; auto: Slurm inside an allocation, otherwise "
               "mpirun.",
       .field = choice([](Config& c) -> auto& { return c.hosts.launcher; }),
       .varies = false},
      {.name = "hosts.names",
       .help = "The hosts on which trials with devices such as 2x4 run, in this order, each with one worker. The first is the machine that "
               "runs mgcompare. See docs/hosts.md.",
       .field = Texts([](Config& c) -> std::vector<std::string>& { return c.hosts.names; }),
       .max = 253,
       .varies = false},
      {.name = "hosts.timeout",
       .help = "A host that has not answered for this long is lost: its trial ends, and the others run on the remaining hosts.",
       .field = Number([](Config& c) -> double& { return c.hosts.timeout; }),
       .min = 2,
       .max = 600,
       .unit = "seconds",
       .varies = false},

      {.name = "variants",
       .help = "Additional rows with other settings: a list of {name: X, set: {optimizer.learning_rate: 0.07}}. The "
               "variant without other settings is called base.",
       .varies = false},
      {.name = "strategies",
       .help = "The strategies to compare: a list of names, or of {NAME: {option: value, as: label}}.",
       .varies = false},

      {.name = "numerics.precision",
       .help = "Arithmetic of convolutions and matrix products; auto: tf32 on GPUs that support it, otherwise fp32.",
       .field = choice([](Config& c) -> auto& { return c.precision; })},
      {.name = "numerics.kernels",
       .help = "Who computes the layers on GPUs. fused: mgcompare's kernels and those of cuDNN and cuBLASLt, with neighbouring "
               "layers in one; library: cuDNN and cuBLASLt, one layer after another, wherever they have the layer.",
       .field = choice([](Config& c) -> auto& { return c.kernels; })},
      {.name = "numerics.deterministic",
       .help = "Get the same bits on every run; strategies whose ranks run freely then run in "
               "virtual time.",
       .field = Flag([](Config& c) -> bool& { return c.deterministic; })},
      {.name = "batch_norm",
       .help = "Batch normalisation over each rank's share (local) or over the global batch (sync).",
       .field = choice([](Config& c) -> auto& { return c.batch_norm; })},

      {.name = "measure.level",
       .help = "quick: the first seed only; normal: the seeds as given; thorough: at least ten seeds, enough for a "
               "rank test. Warm-up after the first steps goes on until three windows agree within 5 %: normal: windows of "
               "20 ms, at most 0.1 s; thorough: windows of 0.5 s, at most 5 s; quick: none. Extra runs of the "
               "one-device baseline: quick: at the beginning and the end; normal: also in the middle; thorough: before each block "
               "and at the end.",
       .field = choice([](Config& c) -> auto& { return c.measure.level; }),
       .varies = false,
       .bare = true},
      {.name = "measure.warm_up_steps",
       .help = "Warm-up steps on weights that are thrown away; 0: no warm-up at any level.",
       .field = Count([](Config& c) -> std::size_t& { return c.measure.warm_up_steps; }),
       .max = 1e5,
       .unit = "steps"},
      {.name = "measure.time_limit",
       .help = "Time limit of a trial; a trial that exceeds it is ended and gets the status timeout.",
       .field = Number([](Config& c) -> double& { return c.measure.time_limit; }),
       .min = 0.1,
       .max = 1e7,
       .unit = "seconds"},
      {.name = "measure.memory_limit",
       .help = "Memory that a trial on CPUs may use; a trial that needs more is ended with the status out of memory. 0: 80 % of "
               "the memory that is free when the trial starts. GPU trials have no limit.",
       .field = Number([](Config& c) -> double& { return c.measure.memory_limit; }),
       .max = 1e6,
       .unit = "GiB"},
      {.name = "measure.rehearse",
       .help = "Rehearsals: one device trains for two epochs as one of several would, with exchanges that take no time, for predictions of more "
               "devices than a row or the machine has. auto: with `level: thorough`.",
       .field = choice([](Config& c) -> auto& { return c.measure.rehearse; })},
      {.name = "measure.record",
       .help = "Record the order of exclusive sections of free-running ranks and each gradient, for `mgcompare replay`; uses "
               "deterministic kernels.",
       .field = Flag([](Config& c) -> bool& { return c.measure.record; })},
      {.name = "checkpoint_epochs",
       .help = "Save the state of a trial every N epochs, to resume it after an interruption; 0: never.",
       .field = Count([](Config& c) -> std::size_t& { return c.checkpoint_epochs; }),
       .max = 1e6,
       .unit = "epochs"},
      {.name = "isolation",
       .help = "sweep: one worker process for many trials; trial: a new one for each.",
       .field = choice([](Config& c) -> auto& { return c.isolation; }),
       .varies = false},
      {.name = "plugins",
       .help = "Further directories or files with strategies.",
       .field = Texts([](Config& c) -> std::vector<std::string>& { return c.plugin_paths; }),
       .max = kMaxPath,
       .varies = false},
      {.name = "python",
       .help = "The interpreter of backends in Python: a path, or a name on PATH; default: the first python3 on PATH. A relative path "
               "starts at the config's folder.",
       .field = Text([](Config& c) -> std::string& { return c.python; }),
       .max = kMaxPath,
       .varies = false},
      {.name = "when_cpu",
       .help = "Settings that replace others if no GPU is used, nested or with dotted keys.",
       .varies = false},
  };
}

}  // namespace

std::string_view Key::section() const { return name.substr(0, name.find('.') == name.npos ? 0 : name.find('.')); }

std::string_view Key::leaf() const { return name.substr(name.find('.') == name.npos ? 0 : name.find('.') + 1); }

const std::vector<Key>& keys() {
  static const std::vector<Key> table = make_keys();
  return table;
}

const Key* find_key(std::string_view name) {
  const auto found = std::find_if(keys().begin(), keys().end(), [&](const Key& key) { return key.name == name; });
  return found == keys().end() ? nullptr : &*found;
}

const Key* find_key(std::string_view section, std::string_view leaf) {
  const auto found = std::find_if(keys().begin(), keys().end(),
                                  [&](const Key& key) { return key.section() == section && key.leaf() == leaf; });
  return found == keys().end() ? nullptr : &*found;
}

bool is_section(std::string_view name) {
  return !name.empty() &&
         std::any_of(keys().begin(), keys().end(), [&](const Key& key) { return key.name.starts_with(std::string(name) + "."); });
}

const Key* bare_key(std::string_view section) {
  const auto found = std::find_if(keys().begin(), keys().end(),
                                  [&](const Key& key) { return key.bare && key.section() == section; });
  return found == keys().end() ? nullptr : &*found;
}

std::vector<std::string> names_in(std::string_view section) {
  std::vector<std::string> names;
  for (const Key& key : keys()) {
    if (key.section() == section) {
      names.emplace_back(key.leaf());
    } else if (!section.empty() && key.name.starts_with(std::string(section) + ".")) {
      names.emplace_back(key.name.substr(section.size() + 1));
    } else if (section.empty() && (names.empty() || names.back() != key.section())) {
      names.emplace_back(key.section());
    }
  }
  return names;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Key& key : keys()) names.emplace_back(key.name);
  return names;
}

}  // namespace mgcompare
