#include "cli/command_help.h"

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace mgcompare {
namespace {

struct OptionText {
  const char* name;
  const char* value;                // name of its value; empty for a flag
  const char* text;
};

struct CommandText {
  std::vector<std::string> path;
  const char* purpose;
  std::vector<OptionText> options;
};

const std::vector<OptionText> kGeneral = {
    {"--help", "", "Print this text"},
    {"--quiet", "", "Print results only"},
    {"--verbose", "", "Log more, on stderr"},
    {"--color", "WHEN", "auto, always or never"},
};

const std::vector<OptionText> kConfig = {
    {"config", "", "A YAML file, or - for standard input"},
    {"--only", "KEY=VALUE", "A part of the plan: strategy, as, devices, batch, model, variant, seed"},
    {"--set", "KEY=VALUE", "Override a key of the config, such as epochs=1; repeatable"},
    {"--seed", "N", "One repeat with this seed"},
    {"--data", "DIR", "Directory with the files of mnist or cifar10, or with one folder for each"},
};

const OptionText kHosts = {"--hosts", "NAMES", "These hosts, with commas between; the first is this machine"};

const char* const kRunDirectory = "Directory of a run";
const char* const kPrice = "Price of one device for one hour, in any currency; default price_per_device_hour of the config";
const char* const kInterpreter = "Interpreter of backends (default: the first python3 on PATH)";

std::vector<OptionText> with(std::vector<OptionText> first, const std::vector<OptionText>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

std::vector<CommandText> texts() {
  return {
      {{"run"},
       "Run the comparison of a config. The word `run` may be left out.",
       with(kConfig, {{"--output", "DIR", "Directory of the results; default runs/<name>-<time>"},
                      {"--resume", "", "Continue the newest run of this config, or the one in -o or DIR"},
                      {"DIR", "", "With --resume: directory of the run to continue"},
                      {"--dry-run", "", "Print the plan and stop"},
                      {"--hosts", "NAMES", "Hosts for devices such as 2x4, with commas between; the first is this machine"},
                      {"--send-data", "", "Send this machine's samples to the other hosts, which need no files of them"},
                      {"--trace", "", "Write a few steps of each rank for chrome://tracing"},
                      {"--until-decided", "MINUTES", "After the plan, add repeats until the answer is decided, for at most so long"},
                      {"--price", "NUMBER", kPrice}})},
      {{"report"},
       "Write the reports of a run again, or one report of several runs side by side.",
       {{"DIR", "", "Directory of a run; repeatable"},
        {"--output", "DIR", "Directory of the reports; default that of the run, of several runs runs/merged-<time>"},
        {"--objective", "NAME", "time_to_accuracy, throughput or device_seconds"},
        {"--price", "NUMBER", kPrice}}},
      {{"replay"},
       "Repeat recorded free-running trials and compare their weights bit by bit.",
       {{"DIR", "", kRunDirectory}, {"--trust-results", "", "Also open plugins in directories that the results name"}}},
      {{"compare"},
       "Compare two runs row by row.",
       {{"A", "", "Directory of the earlier run"},
        {"B", "", "Directory of the later run; gets comparison.md"},
        {"--fail-on-regression", "SHARE", "Exit with 1 if a row is worse by more than this, such as 5%"},
        {"--json", "", "As JSON"}}},
      {{"predict"},
       "Predict step times on more devices.",
       {{"DIR", "", kRunDirectory},
        {"--devices", "LIST", "Numbers of devices, such as 8,16,64"},
        {"--link", "LINK", "measured, a name, a file of `doctor --json`, or latency=5us,bandwidth=20GB/s"},
        {"--hosts", "N", "The devices of its rows on N hosts, with that link between the hosts"},
        {"--measured", "DIR", "With --hosts: a run on several hosts, to show the error"}}},
      {{"export"},
       "Write the trials of a run for other tools.",
       {{"DIR", "", kRunDirectory}, {"--mllog", "", "Log lines in the format of MLPerf"}}},
      {{"verify"},
       "Check what strategies promise.",
       with(kConfig, {{"--quick", "", "A shorter check"},
                      {"--json", "", "All findings as JSON"},
                      {"--only", "KEY=VALUE", "Some strategies or networks: strategy, as or model"},
                      {"--seed", "N", "Repeat the checks with this seed, which `verify` prints"}})},
      {{"plugins"}, "List strategies with their options, and refused files with the reason.", {{"--python", "PATH", kInterpreter}}},
      {{"plugins", "check"}, "Open one plugin and say why it is refused, if it is.", {{"file", "", "A shared library or a backend.json"}, {"--python", "PATH", kInterpreter}}},
      {{"plugins", "new"},
       "Write the source and the build of a new strategy into a new directory.",
       {{"name", "", "Name of the strategy: lower-case letters, digits and _"},
        {"--cuda", "", "With device arithmetic, compiled for CPUs and GPUs"}}},
      {{"devices"}, "List the devices of this machine, or of several hosts.", {{"--json", "", "As JSON"}, kHosts}},
      {{"doctor"}, "Check and measure devices and the links between them, also between hosts.", {{"--json", "", "As JSON"}, kHosts}},
      {{"config"},
       "Document the keys of a config.",
       {{"key", "", "A key, a section, or `layers`; default: all keys"},
        {"--explain", "", "Every key with type, range and default (default)"},
        {"--schema", "", "A JSON schema for editors"},
        {"--markdown", "", "A page of documentation"}}},
  };
}

// Without the options that an option excludes, which would take a line of their own. An error names them.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string text = CLI::Formatter::make_option_opts(option);
    return text.substr(0, text.find(" " + get_label("Excludes") + ":"));
  }
};

void describe(CLI::App& command, const OptionText& text) {
  CLI::Option* const option = command.get_option_no_throw(text.name);
  if (option == nullptr) return;    // the subcommands of `plugins` take no general options
  option->description(text.text);
  if (*text.value != '\0') option->type_name(text.value);
}

}  // namespace

void describe_commands(CLI::App& app) {
  const auto formatter = std::make_shared<HelpFormatter>();
  for (const CommandText& text : texts()) {
    CLI::App* command = &app;
    for (const std::string& word : text.path) command = command->get_subcommand(word);
    command->formatter(formatter);
    command->description(text.purpose);
    for (const OptionText& option : text.options) describe(*command, option);
    for (const OptionText& option : kGeneral) describe(*command, option);
  }
}

}  // namespace mgcompare
