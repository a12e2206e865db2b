#include "cli/command_options.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "base/number_text.h"
#include "cli/comma_list.h"
#include "config/host_name.h"
#include "config/keys.h"
#include "config/problem.h"

namespace mgcompare {
namespace {

// The check of a value that has one of these names.
auto one_of(std::vector<std::string> names) {
  return [names = std::move(names)](const std::string& text) -> std::string {
    if (std::find(names.begin(), names.end(), text) != names.end()) return "";
    const std::string hint = did_you_mean(text, names);
    return fmt::format("'{}' is not one of {}{}", text, listed(names), hint.empty() ? "" : "; " + hint);
  };
}

void add_general(CLI::App& app, Command& command) {
  app.add_flag("-q,--quiet", command.quiet);
  app.add_flag("-v,--verbose", command.verbose);
  app.add_option("--color", command.color)->check(one_of({"auto", "always", "never"}));
}

// An empty value would look like an option that was not given, and another option is not a value.
CLI::Option* add_text(CLI::App& app, const char* name, auto& value) {
  return app.add_option(name, value)->check([](const std::string& text) -> std::string {
    if (text.empty()) return "is empty: give a value";
    return text.starts_with("--") ? fmt::format("got the option {} as its value: give a value before it", text) : "";
  });
}

std::string seed_problem(const std::string& text) {
  const Key& seeds = *find_key("seeds");
  const bool is_whole = !text.empty() && text.size() < 17 && text.find_first_not_of("0123456789") == std::string::npos;
  if (is_whole && std::stod(text) <= seeds.max) return "";
  return fmt::format("'{}' is not a seed: give a whole number from 0 to {}", text, number_text(seeds.max));
}

std::string price_problem(const std::string& text) {
  const Key& price = *find_key("price_per_device_hour");
  if (const auto value = parse_number<double>(text); value && *value >= price.min && *value <= price.max) return "";
  return fmt::format("'{}' is not a price of a device for an hour: give a number from {} to {}, without a currency, such as 2.49", text, number_text(price.min),
                     number_text(price.max));
}

std::string minutes_problem(const std::string& text) {
  constexpr double kMost = 1e6;
  if (const auto value = parse_number<double>(text); value && *value > 0 && *value <= kMost) return "";
  return fmt::format("'{}' is no number of minutes: give one above 0 and up to {}, such as 30", text, number_text(kMost));
}

void add_price(CLI::App& app, Command& command) { app.add_option("--price", command.price)->check(price_problem); }

std::string host_count_problem(const std::string& text) {
  constexpr int kMost = 1000;
  if (const auto value = parse_number<int>(text); value && *value >= 2 && *value <= kMost) return "";
  return fmt::format("'{}' is no number of hosts: give one from 2 to {}", text, number_text(kMost));
}

std::string hosts_problem(const std::string& text) {
  for (const std::string& name : comma_list(text))
    if (!is_host_name(name)) return fmt::format("'{}' is not the name of a host: give names such as node1,node2", name);
  return "";
}

void add_config(CLI::App& app, Command& command, std::vector<std::string>& filters) {
  add_text(app, "CONFIG", command.target)->required();
  app.add_option("--set", command.overrides)->allow_extra_args(false);
  app.add_option("--seed", command.seed)->check(seed_problem);
  add_text(app, "--data", command.data);
  add_text(app, "--only", filters)->allow_extra_args(false);
}

void add_run(CLI::App& app, Command& command, std::vector<std::string>& filters) {
  CLI::App& run = *app.add_subcommand("run");
  add_config(run, command, filters);
  add_text(run, "-o,--output", command.directory);
  // A plan describes the whole experiment, not what is left of a run.
  CLI::Option* const dry_run = run.add_flag("--dry-run", command.dry_run)->excludes(run.add_flag("--resume", command.resume));
  run.add_option("--until-decided", command.until_decided)->check(minutes_problem)->excludes(dry_run);
  run.add_flag("--trace", command.trace);
  add_text(run, "--hosts", command.hosts)->check(hosts_problem);
  run.add_flag("--send-data", command.send_data);
  run.add_option("DIR", command.second);
  add_price(run, command);
}

// Commands on the results of runs.
void add_results(CLI::App& app, Command& command) {
  CLI::App& report = *app.add_subcommand("report");
  add_text(report, "DIR", command.targets)->required();
  add_text(report, "-o,--output", command.directory);
  add_text(report, "--objective", command.objective);
  add_price(report, command);
  CLI::App& replay = *app.add_subcommand("replay");
  add_text(replay, "DIR", command.target)->required();
  replay.add_flag("--trust-results", command.trust_results);
  CLI::App& compare = *app.add_subcommand("compare");
  add_text(compare, "A", command.target)->required();
  add_text(compare, "B", command.second)->required();
  add_text(compare, "--fail-on-regression", command.regression);
  compare.add_flag("--json", command.json);
  CLI::App& predict = *app.add_subcommand("predict");
  add_text(predict, "DIR", command.target)->required();
  add_text(predict, "--devices", command.devices);
  add_text(predict, "--link", command.link);
  predict.add_option("--hosts", command.host_count)->check(host_count_problem);
  add_text(predict, "--measured", command.measured);
  CLI::App& exports = *app.add_subcommand("export");
  add_text(exports, "DIR", command.target)->required();
  exports.add_flag("--mllog", command.mllog);
}

void add_verify(CLI::App& app, Command& command, std::vector<std::string>& filters) {
  CLI::App& verify = *app.add_subcommand("verify");
  add_config(verify, command, filters);
  verify.add_flag("--quick", command.quick);
  verify.add_flag("--json", command.json);
}

void add_plugins(CLI::App& app, Command& command) {
  CLI::App& plugins = *app.add_subcommand("plugins");
  plugins.require_subcommand(0, 1);
  add_text(plugins, "--python", command.python);
  CLI::App& plugins_check = *plugins.add_subcommand("check");
  plugins_check.add_option("FILE", command.target)->required();
  add_text(plugins_check, "--python", command.python);
  CLI::App& plugins_new = *plugins.add_subcommand("new");
  plugins_new.add_option("NAME", command.target)->required();
  plugins_new.add_flag("--cuda", command.cuda);
}

// Commands that only print: the machine, and what the program knows.
void add_information(CLI::App& app, Command& command) {
  for (const char* about_machine : {"devices", "doctor"}) {
    CLI::App& about = *app.add_subcommand(about_machine);
    about.add_flag("--json", command.json);
    add_text(about, "--hosts", command.hosts)->check(hosts_problem);
  }
  CLI::App& config = *app.add_subcommand("config");
  config.add_option("KEY", command.target);
  config.add_flag("--explain", command.explain);
  config.add_flag("--schema", command.schema);
  config.add_flag("--markdown", command.markdown);
  app.add_subcommand("examples");
  CLI::App& completions = *app.add_subcommand("completions");
  completions.add_option("SHELL", command.target)->required()->check(one_of({"bash", "zsh", "fish"}));
  CLI::App& help = *app.add_subcommand("help");
  help.add_option("COMMAND", command.targets);
  help.add_flag("--man", command.manual);
}

}  // namespace

void add_commands(CLI::App& app, Command& command, std::vector<std::string>& filters) {
  app.set_help_flag("-h,--help");
  app.set_version_flag("--version", "mgcompare " MGCOMPARE_VERSION);
  app.require_subcommand(1);
  add_run(app, command, filters);
  add_results(app, command);
  add_verify(app, command, filters);
  add_plugins(app, command);
  add_information(app, command);
  const auto all_of = [](CLI::App& parent) { return parent.get_subcommands([](CLI::App*) { return true; }); };
  for (CLI::App* each : all_of(app)) {
    add_general(*each, command);
    for (CLI::App* nested : all_of(*each)) add_general(*nested, command);
  }
}

}  // namespace mgcompare
