#include "cli/command_help.h"

#include <algorithm>
#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/command_description.h"
#include "cli/manual_page.h"
#include "config/problem.h"

namespace mgcompare {
namespace {

constexpr std::size_t kHelpColumns = 80;

// Lines of at most `columns`, broken at spaces.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  while (text.size() > columns) {
    const std::size_t space = text.rfind(' ', columns);
    if (space == std::string_view::npos) break;
    lines.emplace_back(text.substr(0, space));
    text.remove_prefix(space + 1);
  }
  lines.emplace_back(text);
  return lines;
}

// "  -o, --output DIR"
std::string left_of(const OptionDescription& option) {
  if (option.is_positional()) return "  " + option.value + (option.repeatable ? "..." : "");
  std::string text = "  " + (option.short_name.empty() ? "" : option.short_name + ", ") + option.long_name;
  if (!option.value.empty()) text += " " + option.value;
  return text;
}

std::string general_line() {
  std::vector<std::string> names;
  for (const OptionDescription& option : general_options())
    names.push_back((option.short_name.empty() ? "" : option.short_name + " or ") + option.long_name +
                    (option.value.empty() ? "" : " " + option.value));
  return fmt::format("Also {}\n", fmt::join(names, ", "));
}

std::string help_of(const CommandDescription& command) {
  std::string text = fmt::format("{}\nUsage: mgcompare {}{}", command.purpose, command.name(), command.options.empty() ? "" : " [OPTIONS]");
  if (const std::string arguments = command.arguments(); !arguments.empty()) text += " " + arguments;
  text += "\n\n";
  std::size_t width = 0;
  for (const OptionDescription& option : command.options) width = std::max(width, left_of(option).size() + 2);
  for (const OptionDescription& option : command.options) {
    std::string left = left_of(option);
    for (const std::string& line : wrapped(option.text, kHelpColumns - width)) {
      text += fmt::format("{:<{}}{}\n", left, width, line);
      left.clear();
    }
  }
  for (const CommandDescription& other : all_commands()) {
    const bool is_below = other.words.size() == command.words.size() + 1 && std::equal(command.words.begin(), command.words.end(), other.words.begin());
    if (is_below) text += fmt::format("  {} {}: {}\n", other.words.back(), other.arguments(), other.purpose);
  }
  text += general_line();
  text += "\nExamples:\n";
  for (const std::string& example : command.examples) text += fmt::format("  {}\n", example);
  return text;
}

std::string help_of_program() {
  std::string text =
      "Trains a network with several multi-device strategies and compares them.\n\n"
      "  mgcompare configs/lenet.yaml        compare; results in runs/lenet-TIME\n"
      "  mgcompare lenet --dry-run           an installed experiment: print its plan\n\n";
  for (const CommandDescription& command : all_commands()) {
    if (command.words.size() > 1) continue;
    text += fmt::format("  {:<12} {}\n", command.name(), command.purpose);
  }
  text += "\nAll take --help, -q (results only), -v (log more) and --color. Also: --version.\n";
  std::vector<std::string> codes;
  for (const auto& [code, meaning] : exit_codes()) codes.push_back(code + " " + meaning);
  for (const std::string& line : wrapped(fmt::format("Exit codes: {}.", fmt::join(codes, ", ")), kHelpColumns)) text += line + "\n";
  return text;
}

}  // namespace

std::string help_text(const std::vector<std::string>& words) {
  if (words.empty()) return help_of_program();
  std::vector<std::string> names;
  for (const CommandDescription& command : all_commands()) {
    if (command.words == words) return help_of(command);
    names.push_back(command.name());
  }
  const std::string name = fmt::format("{}", fmt::join(words, " ")), nearest = did_you_mean(name, names);
  throw UsageError(fmt::format("there is no command '{}'; {}", name, nearest.empty() ? "`mgcompare --help` lists all commands" : nearest));
}

int print_help(const Command& command) {
  fmt::print("{}", command.manual ? manual_page() : help_text(command.targets));
  return kDone;
}

}  // namespace mgcompare
