#include "cli/command_texts.h"

#include <variant>

#include <fmt/core.h>

#include "config/keys.h"

namespace mgcompare {
namespace {

using enum ValueKind;

// "epochs=" for every key, and "optimizer.kind=sgd" for every value of a fixed set.
std::vector<std::string> assignments_of_keys() {
  std::vector<std::string> all;
  for (const Key& key : keys()) {
    all.push_back(fmt::format("{}=", key.name));
    if (const Choice* choice = std::get_if<Choice>(&key.field))
      for (const std::string_view name : choice->names) all.push_back(fmt::format("{}={}", key.name, name));
    if (std::holds_alternative<bool& (*)(Config&)>(key.field))
      for (const char* value : {"true", "false"}) all.push_back(fmt::format("{}={}", key.name, value));
  }
  return all;
}

std::vector<std::string> keys_and_layers() {
  std::vector<std::string> all = {"layers"};
  for (const LayerDescription& layer : layer_descriptions()) all.emplace_back(layer.name());
  for (const std::string& name : all_names()) all.push_back(name);
  return all;
}

const char* const kRunDirectory = "Directory of a run";
const char* const kPrice = "Price of one device for an hour, in any currency";
const char* const kInterpreter = "Interpreter of backends; default the first python3 on PATH";
const OptionText kConfig = {"CONFIG", "", "A YAML file, a name of `mgcompare examples`, or -", config};
const OptionText kHosts = {"--hosts", "NAMES", "Of these hosts, such as a,b; the first is this machine", text};
const OptionText kData = {"--data", "DIR", "Files of mnist or cifar10, or a folder for each", directory};

OptionText set_text() { return {"--set", "KEY=VALUE", "Override a key, such as epochs=1; repeatable", assignment, assignments_of_keys()}; }

std::vector<CommandText> experiment_texts() {
  return {
      {{"run"},
       "Run the comparison of a config; the word run may be left out.",
       {kConfig,
        {"DIR", "", "With --resume: directory of the run to continue", directory},
        {"--only", "KEY=VALUE", "A part: strategy, as, devices, batch, model, variant, seed", assignment,
         {"strategy=", "as=", "devices=", "devices=cpu:", "devices=cuda:", "batch=", "model=", "variant=", "variant=base", "seed="}},
        set_text(),
        {"--seed", "N", "One repeat with this seed", text},
        kData,
        {"--output", "DIR", "Directory of the results; default runs/NAME-TIME", directory},
        {"--resume", "", "Continue the newest run of this config, or DIR"},
        {"--dry-run", "", "Print the plan and stop"},
        {"--hosts", "NAMES", "Hosts for devices such as 2x4; the first is this one", text},
        {"--send-data", "", "Send the samples to the other hosts"},
        {"--trace", "", "Write a few steps of each rank for chrome://tracing"},
        {"--until-decided", "MINUTES", "Add repeats until the answer is decided", text},
        {"--price", "NUMBER", kPrice, text}},
       {"mgcompare lenet --only devices=1:4 --set epochs=1", "mgcompare my.yaml --resume"}},
      {{"verify"},
       "Check what strategies promise.",
       {kConfig,
        {"--quick", "", "A shorter check"},
        {"--only", "KEY=VALUE", "Some strategies or networks: strategy, as or model", assignment, {"strategy=", "as=", "model="}},
        set_text(),
        {"--seed", "N", "Repeat the checks with this seed, which verify prints", text},
        kData,
        {"--json", "", "All findings as JSON"}},
       {"mgcompare verify lenet --quick", "mgcompare verify my.yaml --only strategy=mine --seed 7"}},
  };
}

std::vector<CommandText> run_texts() {
  return {
      {{"report"},
       "Write the reports of a run again, or one report of several runs.",
       {{"DIR", "", kRunDirectory, directory},
        {"--output", "DIR", "Directory of the reports; default that of the run, of several runs runs/merged-TIME", directory},
        {"--objective", "NAME", "time_to_accuracy, throughput or device_seconds", choice,
         {"time_to_accuracy", "throughput", "device_seconds"}},
        {"--price", "NUMBER", kPrice, text}},
       {"mgcompare report runs/lenet-20261121-231805", "mgcompare report runs/A runs/B -o both"}},
      {{"compare"},
       "Compare two runs row by row.",
       {{"A", "", "Directory of the earlier run", directory},
        {"B", "", "Directory of the later run; gets comparison.md", directory},
        {"--fail-on-regression", "SHARE", "Exit with 1 if a row is worse by more, such as 5%", text},
        {"--json", "", "As JSON"}},
       {"mgcompare compare runs/A runs/B", "mgcompare compare runs/A runs/B --fail-on-regression 5%"}},
      {{"predict"},
       "Predict step times on more devices.",
       {{"DIR", "", kRunDirectory, directory},
        {"--devices", "LIST", "Numbers of devices, such as 8,16,64", text},
        {"--link", "LINK", "measured, a name, a file of `doctor --json`, or latency=5us,bandwidth=20GB/s", choice_or_file,
         {"measured", "ethernet10", "ethernet100", "infiniband-hdr", "infiniband-ndr", "pcie4", "pcie5", "nvlink4"}},
        {"--hosts", "N", "Its rows on N hosts instead, with that link between", text},
        {"--measured", "DIR", "With --hosts: a run on several hosts, for the error", directory}},
       {"mgcompare predict runs/A --devices 8,16,64", "mgcompare predict runs/A --hosts 2 --link ethernet100"}},
      {{"export"},
       "Write the trials of a run for other tools.",
       {{"DIR", "", kRunDirectory, directory}, {"--mllog", "", "Log lines in the format of MLPerf"}},
       {"mgcompare export runs/A --mllog", "mgcompare export runs/A --mllog -q"}},
      {{"replay"},
       "Repeat recorded free-running trials and compare their weights.",
       {{"DIR", "", kRunDirectory, directory}, {"--trust-results", "", "Also open plugins in directories that the results name, and use the memory limit of the results"}},
       {"mgcompare replay runs/A", "mgcompare replay runs/A --trust-results"}},
  };
}

std::vector<CommandText> program_texts() {
  return {
      {{"plugins"}, "List strategies with their options, and refused files.", {{"--python", "PATH", kInterpreter, file}},
       {"mgcompare plugins", "mgcompare plugins --python frameworks/bin/python3"}},
      {{"plugins", "check"},
       "Open a strategy's .so or a backend, and say why it is refused.",
       {{"FILE", "", "A shared library or its folder, or a backend's folder or file", file}, {"--python", "PATH", kInterpreter, file}},
       {"mgcompare plugins check build/strategy_mine.so", "mgcompare plugins check mine/backend.json"}},
      {{"plugins", "new"},
       "Write source and build of a new strategy into a new directory.",
       {{"NAME", "", "Name of the strategy: lower-case letters, digits and _", text},
        {"--cuda", "", "With arithmetic of its own, compiled for CPUs and GPUs"}},
       {"mgcompare plugins new mine", "mgcompare plugins new mine --cuda"}},
      {{"devices"}, "List the devices of this machine, or of several hosts.", {{"--json", "", "As JSON"}, kHosts},
       {"mgcompare devices", "mgcompare devices --hosts node1,node2"}},
      {{"doctor"}, "Check and measure devices and the links between them and hosts.", {{"--json", "", "As JSON"}, kHosts},
       {"mgcompare doctor", "mgcompare doctor --json >links.json"}},
      {{"config"},
       "Document the keys of a config.",
       {{"KEY", "", "A key, a section, or `layers`; default: all keys", choice, keys_and_layers()},
        {"--explain", "", "Every key with type, range and default (default)"},
        {"--schema", "", "A JSON schema for editors"},
        {"--markdown", "", "A page of documentation"}},
       {"mgcompare config optimizer", "mgcompare config --schema >mgcompare.schema.json"}},
      {{"examples"}, "List the installed experiments; with -q their names only.", {},
       {"mgcompare examples", "mgcompare examples -q"}},
      {{"completions"},
       "Print the completions for a shell.",
       {{"SHELL", "", "bash, zsh or fish", choice, {"bash", "zsh", "fish"}}},
       {"source <(mgcompare completions bash)", "mgcompare completions fish >~/.config/fish/completions/mgcompare.fish"}},
      {{"help"},
       "Explain a command.",
       {{"COMMAND", "", "A command; default: a list of all", choice}, {"--man", "", "The manual page, for man -l"}},
       {"mgcompare help plugins new", "mgcompare help --man | man -l -"}},
  };
}

}  // namespace

std::vector<CommandText> command_texts() {
  std::vector<CommandText> all;
  for (std::vector<CommandText>& part : std::vector{experiment_texts(), run_texts(), program_texts()})
    all.insert(all.end(), part.begin(), part.end());
  for (CommandText& command : all) {
    if (command.words.front() != "help") continue;
    for (const CommandText& other : all)
      if (other.words.size() == 1) command.options.front().choices.push_back(other.words.front());
  }
  return all;
}

std::vector<OptionText> general_texts() {
  return {{"--help", "", "Explain the command"},
          {"--quiet", "", "Print results only"},
          {"--verbose", "", "Log more, on stderr"},
          {"--color", "WHEN", "auto, always or never", choice, {"auto", "always", "never"}}};
}

const std::vector<std::pair<std::string, std::string>>& exit_codes() {
  static const std::vector<std::pair<std::string, std::string>> all = {
      {"0", "success"},
      {"1", "a check failed"},
      {"2", "wrong usage or config"},
      {"3", "some trials failed"},
      {"4", "data, device, plugin or output missing"},
      {"5", "directory in use"},
      {"70", "internal error"},
      {"130/143", "interrupted"}};
  return all;
}

const std::vector<std::pair<std::string, std::string>>& environment_variables() {
  static const std::vector<std::pair<std::string, std::string>> all = {
      {"MGCOMPARE_DATA", "Directory of data sets, as --data, which is tried first"},
      {"MGCOMPARE_PLUGIN_PATH", "Further directories of plugins, separated by colons"},
      {"CUDA_VISIBLE_DEVICES", "Which GPUs are seen"},
      {"NO_COLOR, TERM", "Whether the progress display uses colour and redraws its line"},
      {"XDG_CACHE_HOME, XDG_DATA_HOME", "Parent directories of downloaded data and of the user's plugins"}};
  return all;
}

}  // namespace mgcompare
