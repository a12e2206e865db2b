#include "keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "mgcompare/error.h"
#include "problem.h"

namespace mgcompare {
namespace {

static_assert(std::is_same_v<std::uint64_t, std::size_t>, "seeds share the field type of other lists of whole numbers");

constexpr double kMany = 1e9;
constexpr double kWholeInAnyReader = 9007199254740991;  // 2^53 - 1: JSON readers hold numbers as double

using Text = std::string& (*)(Config&);
using Number = double& (*)(Config&);
using Count = std::size_t& (*)(Config&);
using Flag = bool& (*)(Config&);
using Numbers = std::vector<double>& (*)(Config&);
using Counts = std::vector<std::size_t>& (*)(Config&);
using Texts = std::vector<std::string>& (*)(Config&);

std::vector<Key> make_keys() {
  return {
      {.name = "name",
       .help = "How results call the experiment; the file's name when left out.",
       .field = Text([](Config& c) -> std::string& { return c.name; }),
       .varies = false},
      {.name = "model",
       .help = "A network: models/NAME.yaml beside the config or among the installed ones, or a path that "
               "ends in .yaml. Beside `layers` it is only their name.",
       .varies = false},
      {.name = "layers",
       .help = "The network itself, a list of layers; the loss (softmax cross-entropy) is not one of them.",
       .varies = false},

      {.name = "data.set",
       .help = "The samples: MNIST, or the built-in handwritten-like digits.",
       .field = Text([](Config& c) -> std::string& { return c.data.set; }),
       .choices = {"mnist", "digits"},
       .varies = false},
      {.name = "data.fallback",
       .help = "What to train on when MNIST cannot be had; none ends the run.",
       .field = Text([](Config& c) -> std::string& { return c.data.fallback; }),
       .choices = {"none", "digits"},
       .varies = false},
      {.name = "data.on",
       .help = "Where the samples stay: in the device's memory, or in the host's with double buffering.",
       .field = Text([](Config& c) -> std::string& { return c.data.on; }),
       .choices = {"device", "host"}},
      {.name = "data.train_samples",
       .help = "Train on the first so many samples; 0 for all.",
       .field = Count([](Config& c) -> std::size_t& { return c.data.train_samples; }),
       .most = kMany,
       .unit = "samples"},
      {.name = "data.test_samples",
       .help = "Evaluate on the first so many test samples; 0 for all.",
       .field = Count([](Config& c) -> std::size_t& { return c.data.test_samples; }),
       .most = kMany,
       .unit = "samples"},
      {.name = "data.validation_samples",
       .help = "Hold back the last so many training samples and evaluate on them in place "
               "of the test set; 0 for none.",
       .field = Count([](Config& c) -> std::size_t& { return c.data.validation_samples; }),
       .most = kMany,
       .unit = "samples"},
      {.name = "data.scale",
       .help = "A byte of a sample times this is an input of the network.",
       .field = Number([](Config& c) -> double& { return c.data.scale; }),
       .least = 1e-9,
       .most = 1e6},

      {.name = "optimizer.kind",
       .help = "The update rule.",
       .field = Text([](Config& c) -> std::string& { return c.optimizer.kind; }),
       .choices = {"sgd", "adam", "adagrad", "adadelta"}},
      {.name = "optimizer.learning_rate",
       .help = "The rate before schedule and batch rule.",
       .field = Number([](Config& c) -> double& { return c.optimizer.learning_rate; }),
       .least = 1e-12,
       .most = kMany},
      {.name = "optimizer.momentum",
       .help = "sgd: the share of the last update that is kept.",
       .field = Number([](Config& c) -> double& { return c.optimizer.momentum; }),
       .most = 0.999999},
      {.name = "optimizer.nesterov", .help = "sgd: Nesterov's form of momentum.", .field = Flag([](Config& c) -> bool& {
                                                                                    return c.optimizer.nesterov;
                                                                                  })},
      {.name = "optimizer.weight_decay",
       .help = "The weight times this is added to its gradient.",
       .field = Number([](Config& c) -> double& { return c.optimizer.weight_decay; }),
       .most = 1000},
      {.name = "optimizer.decay_biases",
       .help = "Whether biases decay like weights.",
       .field = Flag([](Config& c) -> bool& { return c.optimizer.decay_biases; })},
      {.name = "optimizer.beta1",
       .help = "adam: decay of the mean of gradients.",
       .field = Number([](Config& c) -> double& { return c.optimizer.beta1; }),
       .most = 0.999999999},
      {.name = "optimizer.beta2",
       .help = "adam: decay of the mean of squared gradients.",
       .field = Number([](Config& c) -> double& { return c.optimizer.beta2; }),
       .most = 0.999999999},
      {.name = "optimizer.rho",
       .help = "adadelta: decay of both means of squares.",
       .field = Number([](Config& c) -> double& { return c.optimizer.rho; }),
       .most = 0.999999999},
      {.name = "optimizer.epsilon",
       .help = "adam, adagrad, adadelta: keeps divisors away from zero.",
       .field = Number([](Config& c) -> double& { return c.optimizer.epsilon; }),
       .least = 1e-30,
       .most = 1},

      {.name = "schedule.kind",
       .help = "How the learning rate changes over the epochs.",
       .field = Text([](Config& c) -> std::string& { return c.schedule.kind; }),
       .choices = {"constant", "step", "cosine"}},
      {.name = "schedule.at",
       .help = "step: when the rate is multiplied by `factor`, counted in epochs.",
       .field = Numbers([](Config& c) -> std::vector<double>& { return c.schedule.at; }),
       .most = 1e6,
       .unit = "epochs"},
      {.name = "schedule.factor",
       .help = "step: what the rate is multiplied by.",
       .field = Number([](Config& c) -> double& { return c.schedule.factor; }),
       .most = 100},
      {.name = "schedule.final_rate",
       .help = "cosine: the rate at the end of the last epoch.",
       .field = Number([](Config& c) -> double& { return c.schedule.final_rate; }),
       .most = kMany},
      {.name = "schedule.warm_up_epochs",
       .help = "The rate grows from that of one base batch to its full value over so many "
               "epochs.",
       .field = Number([](Config& c) -> double& { return c.schedule.warm_up_epochs; }),
       .most = 1e6,
       .unit = "epochs"},
      {.name = "schedule.batch_rule",
       .help = "How the rate follows the global batch: not at all, in proportion to it, or to "
               "its root.",
       .field = Text([](Config& c) -> std::string& { return c.schedule.batch_rule; }),
       .choices = {"none", "linear", "sqrt"}},
      {.name = "schedule.base_batch",
       .help = "The global batch at which `batch_rule` leaves the rate alone.",
       .field = Count([](Config& c) -> std::size_t& { return c.schedule.base_batch; }),
       .least = 1,
       .most = kMany,
       .unit = "samples"},

      {.name = "epochs",
       .help = "How often every training sample is seen.",
       .field = Count([](Config& c) -> std::size_t& { return c.epochs; }),
       .least = 1,
       .most = 1e6,
       .unit = "epochs"},
      {.name = "target_accuracy",
       .help = "Reports the time until this share of the evaluated samples is right; 0 for none.",
       .field = Number([](Config& c) -> double& { return c.target_accuracy; }),
       .most = 1},
      {.name = "seeds",
       .help = "One block of trials a seed: each trial is repeated with each of them.",
       .field = Counts([](Config& c) -> std::vector<std::size_t>& { return c.seeds; }),
       .most = kWholeInAnyReader,
       .varies = false},

      {.name = "scaling.mode",
       .help = "strong: `batch` is the global batch, divided among the devices; weak: each device's.",
       .field = Text([](Config& c) -> std::string& { return c.scaling.mode; }),
       .choices = {"strong", "weak"}},
      {.name = "scaling.devices",
       .help = "auto (1, 2, 4 ... up to what is there), or counts: 2, cpu:2, cuda:4, or a list."},
      {.name = "scaling.batch",
       .help = "One batch size, or a list of them.",
       .field = Counts([](Config& c) -> std::vector<std::size_t>& { return c.scaling.batch; }),
       .least = 1,
       .most = 1e7,
       .unit = "samples"},
      {.name = "scaling.ranks_per_device",
       .help = "More than 1 puts several ranks on a device: for tests, not for speed.",
       .field = Count([](Config& c) -> std::size_t& { return c.scaling.ranks_per_device; }),
       .least = 1,
       .most = 64},

      {.name = "variants",
       .help = "Rows with other settings, beside those of the config as it is, whose variant is called base: a list of "
               "{name: X, set: {optimizer.learning_rate: 0.07}}.",
       .varies = false},
      {.name = "strategies",
       .help = "What is compared: a list of names, or {NAME: {option: value, as: label}}.",
       .varies = false},

      {.name = "numerics.precision",
       .help = "The arithmetic of convolutions and matrix products; auto: tf32 on GPUs that have it, fp32 on others and "
               "on CPUs.",
       .field = Text([](Config& c) -> std::string& { return c.precision; }),
       .choices = {"auto", "fp32", "tf32", "bf16"}},
      {.name = "numerics.deterministic",
       .help = "The same bits on every run; strategies without a common step then run in "
               "virtual time.",
       .field = Flag([](Config& c) -> bool& { return c.deterministic; })},
      {.name = "batch_norm",
       .help = "Statistics of each rank's share, or of the global batch.",
       .field = Text([](Config& c) -> std::string& { return c.batch_norm; }),
       .choices = {"local", "sync"}},

      {.name = "measure.level",
       .help = "quick: the first seed only; normal: the seeds as given; thorough: at least ten seeds, so that ranks are "
               "tested. After its first steps a trial warms up until three windows agree within 5 %: in normal windows "
               "of 20 ms, for a tenth of a second at most, in thorough of half a second, for five at most; in quick it "
               "does not. The one-device baseline also runs beside the blocks: at the beginning and the end, in the "
               "middle too, or before each block. For short: `measure: thorough`.",
       .field = Text([](Config& c) -> std::string& { return c.measure.level; }),
       .choices = {"quick", "normal", "thorough"},
       .varies = false,
       .bare = true},
      {.name = "measure.warm_up_steps",
       .help = "Steps on throw-away weights before the clock starts; 0: no warm-up at all, whatever the level.",
       .field = Count([](Config& c) -> std::size_t& { return c.measure.warm_up_steps; }),
       .most = 1e5,
       .unit = "steps"},
      {.name = "measure.time_limit",
       .help = "A trial that takes longer is ended, and its row says so.",
       .field = Number([](Config& c) -> double& { return c.measure.time_limit; }),
       .least = 0.1,
       .most = 1e7,
       .unit = "seconds"},
      {.name = "measure.record",
       .help = "Keep the order in which free-running ranks met and what each gradient was, for `mgcompare replay`; "
               "kernels are then the deterministic ones.",
       .field = Flag([](Config& c) -> bool& { return c.measure.record; })},
      {.name = "checkpoint_epochs",
       .help = "Keep the state of a trial every so many epochs, to go on from after an "
               "interruption; 0 for never.",
       .field = Count([](Config& c) -> std::size_t& { return c.checkpoint_epochs; }),
       .most = 1e6,
       .unit = "epochs"},
      {.name = "isolation",
       .help = "One worker process for many trials, or a fresh one for each.",
       .field = Text([](Config& c) -> std::string& { return c.isolation; }),
       .choices = {"sweep", "trial"},
       .varies = false},
      {.name = "plugins",
       .help = "Further folders or files to find strategies in.",
       .field = Texts([](Config& c) -> std::vector<std::string>& { return c.plugin_paths; }),
       .varies = false},
      {.name = "when_cpu",
       .help = "Settings that replace others where no GPU is used: nested, or with dotted keys.",
       .varies = false},
  };
}

std::string number_text(double value) {
  return value == static_cast<double>(static_cast<long long>(value)) && value < 1e7
             ? fmt::format("{}", static_cast<long long>(value))
             : fmt::format("{:g}", value);
}

std::string range_text(const Key& key) {
  if (key.most == std::numeric_limits<double>::max()) return "";
  return fmt::format(" from {} to {}", number_text(key.least), number_text(key.most));
}

struct DefaultText {
  Config config;
  std::string operator()(std::monostate) { return ""; }
  template <class T>
  std::string operator()(T& (*field)(Config&)) {
    return text(field(config));
  }

  static std::string text(const std::string& value) { return value; }
  static std::string text(bool value) { return value ? "true" : "false"; }
  static std::string text(double value) { return fmt::format("{:.6g}", value); }
  static std::string text(std::size_t value) { return fmt::format("{}", value); }
  template <class T>
  static std::string text(const std::vector<T>& values) {
    std::vector<std::string> words;
    for (const T& value : values) words.push_back(text(value));
    return words.empty() ? "" : fmt::format("[{}]", fmt::join(words, ", "));
  }
};

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

bool is_section(std::string_view name) {
  return !name.empty() &&
         std::any_of(keys().begin(), keys().end(), [&](const Key& key) { return key.section() == name; });
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

std::string expected(const Key& key) {
  struct Words {
    const Key& key;
    std::string operator()(std::monostate) const { return std::string(key.help); }
    std::string operator()(Text) const {
      return key.choices.empty() ? "text" : "one of " + fmt::format("{}", fmt::join(key.choices, ", "));
    }
    std::string operator()(Number) const { return "a number" + range_text(key); }
    std::string operator()(Count) const { return "a whole number" + range_text(key); }
    std::string operator()(Flag) const { return "true or false"; }
    std::string operator()(Numbers) const { return "a number or a list of numbers" + range_text(key); }
    std::string operator()(Counts) const { return "a whole number or a list of them" + range_text(key); }
    std::string operator()(Texts) const { return "a text or a list of texts"; }
  };
  return std::visit(Words{key}, key.field);
}

std::string default_text(const Key& key) { return std::visit(DefaultText{}, key.field); }

std::string explain_keys(std::string_view prefix) {
  std::string text;
  for (const Key& key : keys()) {
    if (!key.name.starts_with(prefix)) continue;
    text += std::string(key.name) + "\n    " + std::string(key.help) + "\n";
    if (key.name == "layers") text += explain_layers();
    if (std::holds_alternative<std::monostate>(key.field)) continue;
    const std::string otherwise = default_text(key);
    text += "    " + expected(key) + (key.unit.empty() ? "" : fmt::format(", {}", key.unit)) +
            (otherwise.empty() ? "" : fmt::format("; {} when left out", otherwise)) + "\n";
  }
  if (!text.empty()) return text;
  const std::string nearest = did_you_mean(prefix, all_names());
  throw Error(fmt::format("there is no key '{}'; {}", prefix,
                          nearest.empty() ? "`mgcompare config --explain` lists them all" : nearest));
}

}  // namespace mgcompare
