// The completions of fish.

#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/completions.h"

namespace mgcompare {
namespace {

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

// What follows `-l NAME`: whether a value is required, and which are offered.
std::string value_of(const OptionDescription& option) {
  const std::string choices = in_quotes(fmt::format("{}", fmt::join(option.choices, " ")));
  switch (option.kind) {
    case ValueKind::flag: return "";
    case ValueKind::text: return " -x";
    case ValueKind::choice:
    case ValueKind::assignment: return " -x -a " + choices;
    case ValueKind::choice_or_file: return " -r -F -a " + choices;
    case ValueKind::directory: return " -x -a '(__fish_complete_directories)'";
    case ValueKind::file:
    case ValueKind::config: break;
  }
  return " -r -F";
}

std::string line(const std::string& commands, const std::string& rest) {
  return fmt::format("complete -c mgcompare -n {} {}\n", in_quotes("__mgcompare_is " + commands), rest);
}

// The word `run` may be left out, so its options are also those of no command.
std::string commands_of(const CommandDescription& command) {
  return "\"" + command.name() + "\"" + (command.name() == "run" ? " \"\"" : "");
}

std::string option_line(const std::string& commands, const OptionDescription& option) {
  const std::string short_name = option.short_name.empty() ? "" : "-s " + option.short_name.substr(1) + " ";
  return line(commands, fmt::format("{}-l {}{} -d {}", short_name, option.long_name.substr(2), value_of(option), in_quotes(option.text)));
}

std::string argument_line(const std::string& commands, const OptionDescription& argument, const std::vector<std::string>& experiments) {
  if (argument.kind == ValueKind::config)
    return line(commands, "-k -a " + in_quotes(fmt::format("(__fish_complete_suffix .yaml; string split ' ' '{}')", fmt::join(experiments, " "))));
  if (argument.kind == ValueKind::text) return "";
  const std::string value = value_of(argument);
  return line(commands, value.substr(value.find(argument.kind == ValueKind::file ? "-F" : "-a")));
}

}  // namespace

std::string fish_completions(const std::vector<std::string>& experiments) {
  std::string names, with_value, lines;
  const auto note_value = [&](const OptionDescription& option) {
    if (option.kind == ValueKind::flag) return;
    for (const std::string& name : names_of(option))
      if ((with_value + " ").find(" " + name + " ") == std::string::npos) with_value += " " + name;
  };
  for (const OptionDescription& option : general_options()) note_value(option);
  for (const CommandDescription& command : all_commands()) {
    const std::string commands = commands_of(command);
    if (command.words.size() == 1) {
      names += " " + command.name();
      lines += line("\"\"", fmt::format("-a {} -d {}", command.name(), in_quotes(command.purpose)));
    } else {
      lines += line("\"" + command.words[0] + "\"", fmt::format("-a {} -d {}", command.words[1], in_quotes(command.purpose)));
    }
    for (const OptionDescription& option : command.options) {
      note_value(option);
      lines += option.is_positional() ? argument_line(commands, option, experiments) : option_line(commands, option);
    }
    for (const OptionDescription& option : general_options()) lines += option_line(commands, option);
  }
  lines += line("\"\"", "-l version -d 'Print the version'");
  return fmt::format(R"(# Completions of mgcompare for fish, written by `mgcompare completions fish`.

# Prints the command that the words before the cursor name: run if it is left out, nothing before any argument.
function __mgcompare_command
  set -l command
  set -l is_value
  for word in (commandline -opc)[2..-1]
    if test -n "$is_value"
      set is_value
    else if contains -- $word{}
      set is_value yes
    else if string match -q -- '-?*' $word
      continue
    else if test -z "$command"
      set command run
      if contains -- $word{}
        set command $word
      end
    else if test "$command" = plugins; and contains -- $word check new
      set command "plugins $word"
    end
  end
  echo $command
end

function __mgcompare_is
  contains -- (__mgcompare_command) $argv
end

complete -c mgcompare -f
{})",
                     with_value, names, lines);
}

}  // namespace mgcompare
