#include "config/keys.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <type_traits>
#include <utility>

#include "config/data_keys.h"
#include "config/key_field.h"

namespace mgcompare {
namespace {

static_assert(std::is_same_v<std::uint64_t, std::size_t>, "seeds use the field type of other lists of whole numbers");

constexpr double kMaxExactInteger = 9007199254740991;  // 2^53 - 1: JSON readers store numbers as double

// The keys before those of `data`.
std::vector<Key> network_keys() {
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
  };
}

// The keys after those of `data`.
std::vector<Key> training_keys() {
  return {
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
       .help = "Linear warm-up of the learning rate over N epochs: from that of one base batch where `batch_rule` "
               "raises it, otherwise from 0.",
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
               "whole epochs. A trial has at most 100,000 evaluations.",
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
      {.name = "measure.progress_limit",
       .help = "A trial that makes no progress for so long, because it is blocked, for example, is ended likewise. While it loads its data it "
               "has at least 120 s. A backend that trains sends no progress: only `measure.time_limit` ends it then.",
       .field = Number([](Config& c) -> double& { return c.measure.progress_limit; }),
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
  static const std::vector<Key> table = [] {
    std::vector<Key> all = network_keys();
    for (std::vector<Key>& more : std::array{data_keys(), training_keys()}) std::move(more.begin(), more.end(), std::back_inserter(all));
    return all;
  }();
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
