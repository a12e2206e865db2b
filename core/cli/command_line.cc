#include "cli/command_line.h"
#include "base/error_text.h"
#include "base/print.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "base/text.h"
#include "cli/command_help.h"
#include "cli/report_commands.h"
#include "cli/directory.h"
#include "config/host_name.h"
#include "config/keys.h"
#include "cli/plugin_commands.h"
#include "cli/device_commands.h"
#include "process/message.h"
#include "config/problem.h"
#include "cli/replay.h"
#include "cli/verify_command.h"
#include "results/results_store.h"
#include "results/sqlite.h"
#include "process/signals.h"

namespace mgcompare {
namespace {

constexpr std::string_view kHelp = R"(Trains networks with several multi-device strategies and compares their speed and accuracy.

  mgcompare configs/lenet.yaml                                   compare; results in runs/lenet-<time>/
  mgcompare configs/lenet.yaml --resume                          continue the newest run of this config
  mgcompare configs/lenet.yaml --only devices=1 --set epochs=1   a shorter part of it

  mgcompare [run] CONFIG|-   -o DIR  directory of the results (with --resume: of the run to continue)    --dry-run  print the plan
                             --only KEY=VALUE,...  a part of the plan: strategy, as, devices ("devices=1:4"), batch, model, variant, seed
                             --set KEY=VALUE  override a key; repeatable    --seed N  one repeat    --hosts a,b  for devices such as 2x4; --send-data
                             --data DIR  of MNIST or CIFAR-10    --until-decided MINUTES  repeats    --price NUMBER  of a device-hour    --trace
  mgcompare report DIR...    write the reports of a run again, or one of several (-o DIR); --objective time_to_accuracy|throughput|device_seconds
  mgcompare replay DIR       repeat recorded trials (measure.record), bit by bit; --trust-results: with plugin directories named in DIR
  mgcompare compare A B      compare two runs row by row; --fail-on-regression 5%; --json
  mgcompare predict DIR      predict more devices: --devices 8,16; --link measured|NAME|FILE|latency=5us,bandwidth=20GB/s
  mgcompare export DIR       --mllog: write log lines in the format of MLPerf
  mgcompare verify CONFIG    check what strategies promise; --quick: shorter; --only strategy=NAME; --seed N repeats; --json
  mgcompare plugins          list strategies and their options; `check FILE`, `new NAME [--cuda]`
  mgcompare devices          list the devices of this machine, or of several: --hosts a,b; --json
  mgcompare doctor           check and measure devices and the links between them; --hosts a,b; --json
  mgcompare config           --explain: all keys; `config layers`: one key or section; --schema: JSON schema; --markdown: a page

All commands: --help (`mgcompare run --help`), -q results only, -v log more, --color auto|always|never. Also: --version.
Exit codes: 0 success, 1 a check failed, 2 wrong usage or config, 3 some trials failed, 4 data, device, plugin or output
missing, 5 directory in use, 70 internal error, 130/143 interrupted (the partial report is written).
)";

constexpr std::array<std::string_view, 11> kCommands = {"run",    "report", "compare", "predict", "export", "replay",
                                                        "verify", "plugins", "devices", "doctor", "config"};

constexpr std::string_view kFromStandardInput = "-";

constexpr std::string_view kSeeHelp = "`mgcompare --help` lists all commands";

bool takes_value(const CLI::App& app, const std::string& word) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  return std::any_of(commands.begin(), commands.end(), [&](const CLI::App* command) {
    const CLI::Option* option = command->get_option_no_throw(word);
    return option != nullptr && option->get_items_expected_max() > 0;
  });
}

// A word without a dot or slash that is not a file is probably a mistyped command.
void refuse_unknown(const std::string& word) {
  if (word == kFromStandardInput || word.find_first_of("./") != std::string::npos || std::filesystem::exists(word)) return;
  const std::string nearest = did_you_mean(word, {kCommands.begin(), kCommands.end()});
  throw UsageError(
      fmt::format("no command and no config is named '{}'; {}", word, nearest.empty() ? kSeeHelp : nearest));
}

// `--resume=DIR` is `--resume -o DIR`: CLI11 would take DIR for true or false.
std::vector<std::string> split_resume(int argc, char** argv) {
  constexpr std::string_view kResume = "--resume=";
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with(kResume)) {
      if (word.size() == kResume.size()) throw UsageError("--resume= names no directory; give one, or write --resume for the newest run");
      words.insert(words.end(), {"--resume", "-o", std::string(word.substr(kResume.size()))});
    } else {
      words.emplace_back(word);
    }
  }
  return words;
}

// CLI11 expects the command first. `run` may be left out before a config.
std::vector<std::string> words_of(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words = split_resume(argc, argv);
  if (words.empty())
    throw UsageError(fmt::format("give a config, such as configs/lenet.yaml, or a command; {}", kSeeHelp));
  auto first = words.begin();
  while (first != words.end() && first->starts_with("-") && *first != kFromStandardInput)
    first += takes_value(app, *first) && std::next(first) != words.end() ? 2 : 1;
  const bool is_named = first != words.end() && std::find(kCommands.begin(), kCommands.end(), *first) != kCommands.end();
  if (!is_named && first != words.end()) refuse_unknown(*first);
  // Options before the command belong to it.
  if (is_named) std::rotate(words.begin(), first, first + 1);
  const bool stands_alone = words.size() == 1 && (words[0] == "--version" || words[0] == "--help" || words[0] == "-h");
  if (!is_named && !stands_alone) words.insert(words.begin(), "run");
  // CLI11 expects them in reverse order.
  std::reverse(words.begin(), words.end());
  return words;
}

void add_general(CLI::App& app, Command& command) {
  app.add_flag("-q,--quiet", command.quiet);
  app.add_flag("-v,--verbose", command.verbose);
  app.add_option("--color", command.color)->check(CLI::IsMember({"auto", "always", "never"}).description(""));  // the help has the choices
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
  return fmt::format("'{}' is not a seed: give a whole number from 0 to {:.0f}", text, seeds.max);
}

std::string price_problem(const std::string& text) {
  const Key& price = *find_key("price_per_device_hour");
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc() && end == text.data() + text.size() && value >= price.min && value <= price.max) return "";
  return fmt::format("'{}' is not a price of a device for an hour: give a number from {:g} to {:g}, without a currency, such as 2.49", text, price.min, price.max);
}

std::string minutes_problem(const std::string& text) {
  constexpr double kMost = 1e6;
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc() && end == text.data() + text.size() && value > 0 && value <= kMost) return "";
  return fmt::format("'{}' is no number of minutes: give one above 0 and up to {:g}, such as 30", text, kMost);
}

void add_price(CLI::App& app, Command& command) { app.add_option("--price", command.price)->check(price_problem); }

std::string hosts_problem(const std::string& text) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (const std::string name = text.substr(begin, end - begin); !is_host_name(name))
      return fmt::format("'{}' is not the name of a host: give names such as node1,node2", name);
    begin = end + 1;
  }
  return "";
}

// Quoted: an address would look like a number.
std::string hosts_override(const std::string& hosts) {
  std::string names = hosts;
  for (std::size_t comma = names.find(','); comma != names.npos; comma = names.find(',', comma + 3)) names.replace(comma, 1, R"(",")");
  return fmt::format(R"(hosts.names=["{}"])", names);
}

void add_config(CLI::App& app, Command& command, std::vector<std::string>& filters) {
  add_text(app, "config", command.target)->required();
  app.add_option("--set", command.overrides)->allow_extra_args(false);
  app.add_option("--seed", command.seed)->check(seed_problem);
  add_text(app, "--data", command.data);
  add_text(app, "--only", filters)->allow_extra_args(false);
}

// `filters` become part of the command at the end.
void add_commands(CLI::App& app, Command& command, std::vector<std::string>& filters) {
  app.set_help_flag("-h,--help");
  app.set_version_flag("--version", "mgcompare " MGCOMPARE_VERSION);
  app.require_subcommand(1);
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
  CLI::App& report = *app.add_subcommand("report");
  add_text(report, "DIR", command.targets)->required();
  add_text(report, "-o,--output", command.directory);
  CLI::App& replay = *app.add_subcommand("replay");
  add_text(replay, "DIR", command.target)->required();
  replay.add_flag("--trust-results", command.trust_results);
  add_text(report, "--objective", command.objective);
  add_price(report, command);
  CLI::App& compare = *app.add_subcommand("compare");
  add_text(compare, "A", command.target)->required();
  add_text(compare, "B", command.second)->required();
  add_text(compare, "--fail-on-regression", command.regression);
  compare.add_flag("--json", command.json);
  CLI::App& predict = *app.add_subcommand("predict");
  add_text(predict, "DIR", command.target)->required();
  add_text(predict, "--devices", command.devices);
  add_text(predict, "--link", command.link);
  predict.add_option("--hosts", command.host_count)->check(CLI::Range(2, 1000));
  add_text(predict, "--measured", command.measured);
  CLI::App& exports = *app.add_subcommand("export");
  add_text(exports, "DIR", command.target)->required();
  exports.add_flag("--mllog", command.mllog);
  CLI::App& verify = *app.add_subcommand("verify");
  add_config(verify, command, filters);
  verify.add_flag("--quick", command.quick);
  verify.add_flag("--json", command.json);
  CLI::App& plugins = *app.add_subcommand("plugins");
  plugins.require_subcommand(0, 1);
  add_text(plugins, "--python", command.python);
  CLI::App& plugins_check = *plugins.add_subcommand("check");
  plugins_check.add_option("file", command.target)->required();
  add_text(plugins_check, "--python", command.python);
  CLI::App& plugins_new = *plugins.add_subcommand("new");
  plugins_new.add_option("name", command.target)->required();
  plugins_new.add_flag("--cuda", command.cuda);
  for (const char* about_machine : {"devices", "doctor"}) {
    CLI::App& about = *app.add_subcommand(about_machine);
    about.add_flag("--json", command.json);
    add_text(about, "--hosts", command.hosts)->check(hosts_problem);
  }
  CLI::App& config = *app.add_subcommand("config");
  config.add_option("key", command.target);
  config.add_flag("--explain", command.explain);
  config.add_flag("--schema", command.schema);
  config.add_flag("--markdown", command.markdown);
  for (CLI::App* each : app.get_subcommands([](CLI::App*) { return true; })) add_general(*each, command);
  describe_commands(app);
}

// `CONFIG --resume DIR` is `CONFIG --resume -o DIR`.
void take_directory(Command& command) {
  if (!command.resume || !command.directory.empty())
    throw UsageError(fmt::format("'{}' is not expected after the config; {}", plain(command.second), kSeeHelp));
  command.directory = std::exchange(command.second, "");
}

}  // namespace

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  Command& command = parsed.command;
  std::vector<std::string> filters;
  CLI::App app("", "mgcompare");
  add_commands(app, command, filters);
  try {
    app.parse(words_of(app, argc, argv));
  } catch (const CLI::CallForHelp&) {
    std::string text = app.get_subcommands().empty() ? std::string(kHelp) : app.help();
    // CLI11 ends with an empty line, and the text is to fit on a screen.
    while (text.ends_with("\n\n")) text.pop_back();
    fmt::print("{}", text);
    parsed.exit_code = kDone;
    return parsed;
  } catch (const CLI::CallForVersion&) {
    fmt::print("mgcompare {}\n", MGCOMPARE_VERSION);
    parsed.exit_code = kDone;
    return parsed;
  } catch (const CLI::RequiredError& error) {
    // An option that does not exist explains more than what is missing beside it.
    const std::vector<std::string> unknown = app.remaining(true);
    const std::string text = unknown.empty() ? error.what() : fmt::format("there is no option '{}'", unknown.front());
    print_stderr("mgcompare: {}; {}\n", plain(text), kSeeHelp);
    parsed.exit_code = kUsage;
    return parsed;
  } catch (const CLI::ParseError& error) {
    print_stderr("mgcompare: {}; {}\n", plain(error.what()), kSeeHelp);
    parsed.exit_code = kUsage;
    return parsed;
  }
  const CLI::App& chosen = *app.get_subcommands().front();
  command.name = chosen.get_name();
  if (!chosen.get_subcommands().empty()) command.name += " " + chosen.get_subcommands().front()->get_name();
  for (const std::string& filter : filters) command.only += (command.only.empty() ? "" : ",") + filter;
  if (!command.targets.empty()) command.target = command.targets.front();
  if (command.name == "run" && !command.second.empty()) take_directory(command);
  if (command.name == "run" && command.price) command.overrides.push_back(fmt::format("price_per_device_hour={}", *command.price));
  if (!command.hosts.empty()) command.overrides.push_back(hosts_override(command.hosts));
  if (command.seed) command.overrides.push_back(fmt::format("seeds=[{}]", *command.seed));
  // The log is for developers; messages for users are printed without it.
  spdlog::set_default_logger(spdlog::stderr_color_st("mgcompare"));
  spdlog::set_pattern("%T.%e %^%l%$ %v");
  spdlog::set_level(command.verbose ? spdlog::level::debug : spdlog::level::warn);
  return parsed;
}

int run_printing_errors(const std::function<int()>& body) {
  interrupt_reading_if([] { return interruption() != 0; });
  const auto print = [](std::string_view text, int code) {
    // Errors of a config begin with file and line, a format that editors know.
    const bool has_place = text.find(": error: ") != std::string_view::npos;
    print_stderr("{}{}\n", has_place ? "" : "mgcompare: ", plain_lines(text));
    return interruption() != 0 ? exit_code_of(interruption()) : code;
  };
  // Losing output is an error. A reader that closed its pipe needs no message.
  const auto unprinted = [&](int problem) {
    if (problem == EPIPE) return static_cast<int>(kEnvironment);
    return print(fmt::format("the results cannot be written to standard output ({}); redirect it to another file",
                             error_text(problem)),
                 kEnvironment);
  };
  try {
    const int code = body();
    errno = 0;
    // An earlier failure may have left nothing to flush.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return unprinted(errno != 0 ? errno : EIO);
    return interruption() != 0 ? exit_code_of(interruption()) : code;
  } catch (const ConfigError& error) {
    return print(error.what(), kUsage);
  } catch (const UsageError& error) {
    return print(error.what(), kUsage);
  } catch (const InUse& error) {
    return print(error.what(), kInUse);
  } catch (const Error& error) {
    return print(error.what(), kEnvironment);
  } catch (const std::filesystem::filesystem_error& error) {
    return print(fmt::format("{}: {}; check the permissions and the space there", error.path1().string(),
                             error.code().message()), kEnvironment);
  } catch (const std::exception& error) {
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    if (system != nullptr && std::ferror(stdout) != 0) return unprinted(system->code().value());
    if (system != nullptr && is_limit(system->code().value())) return print(error_text(system->code().value()), kEnvironment);
    return print(fmt::format("internal error, please report it: {}", error.what()), kInternal);
  }
}

SupervisorSettings supervisor_settings(const std::string& log_file) {
  SupervisorSettings settings;
  settings.log_file = log_file;
  settings.interrupted = [] { return interruption() != 0; };
  settings.interruption_descriptor = interruption_descriptor();
  return settings;
}

// `--resume DIR` and `run DIR` lack the config.
static void refuse_directory(const Command& command) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(command.target, ignored)) return;
  if (command.name != "run" || !has_run(command.target))
    throw UsageError(fmt::format("{} is a directory; give a config", command.target));
  const Run run = read_run(command.target);
  const std::string config = run.rows.empty() ? "CONFIG" : in_shell(run.rows.front().config->path);
  throw UsageError(fmt::format("{} is the directory of a run; to continue it, write: mgcompare {} --resume -o {}", command.target,
                               config, in_shell(command.target)));
}

Config config_of(const Command& command, CapabilityProbe& probe) {
  refuse_directory(command);
  ConfigSetting setting;
  setting.overrides = command.overrides;
  setting.share_folder = share_folder();
  for (const PlatformSummary& platform : probe.platforms()) {
    setting.gpu |= platform.kind != "cpu" && platform.problem.empty() && !platform.devices.empty();
  }
  const bool is_standard_input = command.target == kFromStandardInput || command.target == "/dev/stdin";
  return read_config(is_standard_input ? kStandardInput : command.target, setting);
}

int other_command(const Command& command) {
  static const std::map<std::string, int (*)(const Command&)> commands = {
      {"report", write_report_again}, {"compare", compare_two},      {"predict", predict_more},
      {"export", export_run},         {"replay", replay_run},         {"verify", verify_strategies}, {"plugins", list_plugins},
      {"plugins check", check_plugin}, {"plugins new", new_plugin},  {"devices", list_devices},
      {"doctor", run_doctor},             {"config", explain_config},
  };
  return commands.at(command.name)(command);
}

}  // namespace mgcompare
