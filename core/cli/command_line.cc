#include "cli/command_line.h"
#include "base/error_text.h"
#include "base/print.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "base/text.h"
#include "cli/comma_list.h"
#include "cli/command_help.h"
#include "cli/command_options.h"
#include "cli/completions.h"
#include "cli/documents.h"
#include "cli/experiments.h"
#include "cli/first_use.h"
#include "cli/parse_problem.h"
#include "cli/report_commands.h"
#include "cli/directory.h"
#include "cli/plugin_commands.h"
#include "cli/device_commands.h"
#include "discovery/plugin_files.h"
#include "plan/strategy_rows.h"
#include "process/message.h"
#include "config/partial_config.h"
#include "config/problem.h"
#include "cli/replay.h"
#include "cli/verify_command.h"
#include "results/results_store.h"
#include "results/sqlite.h"
#include "process/signals.h"

namespace mgcompare {
namespace {

constexpr std::string_view kFromStandardInput = "-";

constexpr std::string_view kSeeHelp = "`mgcompare --help` lists all commands";

bool takes_value(const CLI::App& app, const std::string& word) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  return std::any_of(commands.begin(), commands.end(), [&](const CLI::App* command) {
    const CLI::Option* option = command->get_option_no_throw(word);
    return option != nullptr && option->get_items_expected_max() > 0;
  });
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(command->get_name());
  return names;
}

// A word without a dot or slash that is neither a file nor an installed experiment is probably a mistyped command.
void refuse_unknown(const std::string& word, std::vector<std::string> names) {
  if (word == kFromStandardInput || word.find_first_of("./") != std::string::npos || std::filesystem::exists(word)) return;
  if (!experiment_file(word).empty()) return;
  for (const Experiment& experiment : installed_experiments()) names.push_back(experiment.name);
  const std::string nearest = did_you_mean(word, names);
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
  auto first = words.begin();
  while (first != words.end() && first->starts_with("-") && *first != kFromStandardInput)
    first += takes_value(app, *first) && std::next(first) != words.end() ? 2 : 1;
  const std::vector<std::string> names = names_of_commands(app);
  const bool is_named = first != words.end() && std::find(names.begin(), names.end(), *first) != names.end();
  if (!is_named && first != words.end()) refuse_unknown(*first, names);
  // Options before the command belong to it.
  if (is_named) std::rotate(words.begin(), first, first + 1);
  const bool stands_alone = words.size() == 1 && (words[0] == "--version" || words[0] == "--help" || words[0] == "-h");
  if (!is_named && !stands_alone) words.insert(words.begin(), "run");
  // CLI11 expects them in reverse order.
  std::reverse(words.begin(), words.end());
  return words;
}

// Quoted: an address would look like a number.
std::string hosts_override(const std::string& hosts) {
  return fmt::format(R"(hosts.names=["{}"])", fmt::join(comma_list(hosts), R"(",")"));
}

// A config that is no file may be the name of an installed experiment.
void take_experiment(Command& command) {
  if (std::filesystem::exists(command.target)) return;
  if (const std::string file = experiment_file(command.target); !file.empty()) command.target = file;
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
  if (argc < 2) {
    command.name = kFirstUse;
    return parsed;
  }
  try {
    app.parse(words_of(app, argc, argv));
  } catch (const CLI::CallForHelp&) {
    std::vector<std::string> words;
    for (const CLI::App* chosen = &app; !chosen->get_subcommands().empty();) {
      chosen = chosen->get_subcommands().front();
      words.push_back(chosen->get_name());
    }
    fmt::print("{}", help_text(words));
    parsed.exit_code = kDone;
    return parsed;
  } catch (const CLI::CallForVersion&) {
    fmt::print("mgcompare {}\n", MGCOMPARE_VERSION);
    parsed.exit_code = kDone;
    return parsed;
  } catch (const CLI::ParseError& error) {
    print_stderr("mgcompare: {}; {}\n", plain(parse_problem(app, error)), kSeeHelp);
    parsed.exit_code = kUsage;
    return parsed;
  }
  const CLI::App& chosen = *app.get_subcommands().front();
  command.name = chosen.get_name();
  if (!chosen.get_subcommands().empty()) command.name += " " + chosen.get_subcommands().front()->get_name();
  for (const std::string& filter : filters) command.only += (command.only.empty() ? "" : ",") + filter;
  if (!command.targets.empty()) command.target = command.targets.front();
  if (command.name == "run" || command.name == "verify") take_experiment(command);
  if (command.name == "run" && !command.second.empty()) take_directory(command);
  if (command.name == "run" && command.price) command.overrides.push_back(fmt::format("price_per_device_hour={}", *command.price));
  if (!command.hosts.empty()) command.overrides.push_back(hosts_override(command.hosts));
  if (command.seed) command.overrides.push_back(fmt::format("seeds=[{}]", *command.seed));
  // The log is for developers; messages for users are printed without it.
  if (spdlog::get("mgcompare") == nullptr) spdlog::set_default_logger(spdlog::stderr_color_st("mgcompare"));
  spdlog::set_pattern("%T.%e %^%l%$ %v");
  spdlog::set_level(command.verbose ? spdlog::level::debug : spdlog::level::warn);
  return parsed;
}

int run_printing_errors(const std::function<int()>& body) {
  interrupt_reading_if([] { return interruption() != 0; });
  const auto print = [](std::string_view text, int code) {
    // Errors of a config begin with file and line, a format that editors know.
    const bool has_place = text.find(": error: ") != std::string_view::npos;
    print_stderr("{}{}\n", has_place ? "" : "mgcompare: ", with_documents(plain_lines(text), prefix_folder()));
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

void warn_of_plugin_folders() {
  for (const std::string& missing : missing_plugin_folders()) print_stderr("warning: {}\n", missing);
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

Config config_of(const Command& command, ProbeClient& probe) {
  refuse_directory(command);
  warn_of_plugin_folders();
  ConfigSetting setting;
  setting.overrides = command.overrides;
  setting.share_folder = share_folder();
  for (const PlatformSummary& platform : probe.platforms()) {
    setting.gpu |= platform.kind != "cpu" && platform.problem.empty() && !platform.devices.empty();
  }
  const bool is_standard_input = command.target == kFromStandardInput || command.target == "/dev/stdin";
  // Of a config with mistakes, also the names of strategies are checked, which the plan would do.
  return read_config(is_standard_input ? kStandardInput : command.target, setting, [&](const Config& partial) {
    probe.search(partial.plugin_paths);
    return plugin_problems(partial.strategies, probe.plugins());
  });
}

int other_command(const Command& command) {
  static const std::map<std::string, int (*)(const Command&)> commands = {
      {"report", write_report_again}, {"compare", compare_two},      {"predict", predict_more},
      {"export", export_run},         {"replay", replay_run},         {"verify", verify_strategies}, {"plugins", list_plugins},
      {"plugins check", check_plugin}, {"plugins new", new_plugin},  {"devices", list_devices},
      {"doctor", run_doctor},             {"config", explain_config}, {"examples", list_experiments},
      {"completions", print_completions}, {"help", print_help},      {kFirstUse, propose_first_command},
  };
  return commands.at(command.name)(command);
}

}  // namespace mgcompare
