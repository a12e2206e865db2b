// The completions of zsh: a file of $fpath, which compinit loads.

#include <algorithm>
#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/completions.h"

namespace mgcompare {
namespace {

constexpr std::string_view kZshFunctions = R"(#compdef mgcompare
# Completions of mgcompare for zsh, written by `mgcompare completions zsh`.

# Names of keys first, and their values after the =.
_mgcompare_assignments() {
  local name=${PREFIX%%=*}=
  if [[ $PREFIX == *=* ]]; then
    local -a values=(${(M)argv:#$name?*})
    compset -P '*='
    compadd -- ${values#$name}
  else
    compadd -S '' -- ${(M)argv:#*=}
  fi
}

)";

// Within the brackets and colons of a specification.
std::string zsh_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    if (c == '\'') result += "'\\'";
    result += c;
  }
  return result;
}

std::string function_name(const CommandDescription& command) {
  return fmt::format("_mgcompare_{}", fmt::join(command.words, "_"));
}

std::string values_function(const CommandDescription& command, const OptionDescription& option) {
  std::string name = option.is_positional() ? option.value : option.long_name.substr(2);
  std::replace(name.begin(), name.end(), '-', '_');
  return fmt::format("{}_{}", function_name(command), name);
}

std::string action(const CommandDescription& command, const OptionDescription& option) {
  switch (option.kind) {
    case ValueKind::choice: return fmt::format("({})", fmt::join(option.choices, " "));
    // Functions of their own: a colon in a candidate would end an action.
    case ValueKind::choice_or_file:
    case ValueKind::assignment: return " " + values_function(command, option);
    case ValueKind::file: return "_files";
    case ValueKind::directory: return "_files -/";
    case ValueKind::config: return " _mgcompare_configs";
    case ValueKind::flag:
    case ValueKind::text: break;
  }
  return " ";
}

std::string values_functions(const CommandDescription& command) {
  std::string text;
  for (const OptionDescription& option : command.options) {
    const std::string choices = fmt::format("{}", fmt::join(option.choices, " "));
    if (option.kind == ValueKind::assignment)
      text += fmt::format("{}() {{\n  _mgcompare_assignments {}\n}}\n\n", values_function(command, option), choices);
    if (option.kind == ValueKind::choice_or_file)
      text += fmt::format("{}() {{\n  compadd -- {}\n  _files\n}}\n\n", values_function(command, option), choices);
  }
  return text;
}

std::string specification(const CommandDescription& command, const OptionDescription& option) {
  const std::string value = option.kind == ValueKind::flag ? "" : fmt::format(":{}:{}", zsh_escaped(option.value), action(command, option));
  if (option.is_positional()) return fmt::format("    '{}{}'", option.repeatable ? "*" : option.required ? "" : ":", value);
  const bool repeats = option.kind == ValueKind::assignment;
  const std::string explained = fmt::format("[{}]{}", zsh_escaped(option.text), value);
  if (option.short_name.empty()) return fmt::format("    '{}{}{}'", repeats ? "*" : "", option.long_name, explained);
  return fmt::format("    '({0} {1})'{{{0},{1}}}'{2}'", option.short_name, option.long_name, explained);
}

std::string specifications(const CommandDescription& command) {
  std::vector<std::string> all;
  for (const OptionDescription& option : command.options) all.push_back(specification(command, option));
  for (const OptionDescription& option : general_options()) all.push_back(specification(command, option));
  return fmt::format("{}", fmt::join(all, " \\\n"));
}

// Words below a command, such as `check` of `plugins`.
std::string words_below(const CommandDescription& command) {
  std::string text;
  for (const CommandDescription& other : all_commands())
    if (other.words.size() == 2 && command.words.size() == 1 && other.words[0] == command.words[0])
      text += fmt::format(" {}", other.words[1]);
  return text;
}

std::string function_of(const CommandDescription& command) {
  std::string text = values_functions(command) + function_name(command) + "() {\n";
  if (const std::string below = words_below(command); !below.empty()) {
    for (const CommandDescription& other : all_commands())
      if (other.words.size() == 2 && command.words.size() == 1 && other.words[0] == command.words[0])
        text += fmt::format("  if [[ $words[2] == {} ]]; then\n    shift words\n    ((--CURRENT))\n    {}\n    return\n  fi\n", other.words[1],
                            function_name(other));
    return text + fmt::format("  _arguments \\\n    ':command:({} )' \\\n{}\n}}\n\n", below.substr(1), specifications(command));
  }
  return text + fmt::format("  _arguments \\\n{}\n}}\n\n", specifications(command));
}

}  // namespace

std::string zsh_completions(const std::vector<std::string>& experiments) {
  std::string text(kZshFunctions);
  text += fmt::format("_mgcompare_configs() {{\n  compadd -- {}\n  _files -g '*.(yaml|yml)'\n}}\n\n", fmt::join(experiments, " "));
  std::string commands, names;
  for (const CommandDescription& command : all_commands()) {
    text += function_of(command);
    if (command.words.size() > 1) continue;
    commands += fmt::format("    '{}:{}'\n", command.name(), zsh_escaped(command.purpose));
    names += (names.empty() ? "" : "|") + command.name();
  }
  return text + fmt::format(R"(_mgcompare() {{
  local -a commands=(
{})
  if ((CURRENT == 2)) && [[ $PREFIX != -* ]]; then
    _describe command commands
    _mgcompare_configs
  elif [[ $words[2] == ({}) ]]; then
    local name=$words[2]
    shift words
    ((--CURRENT))
    _mgcompare_$name
  else
    _mgcompare_run
  fi
}}

# On its first call this whole file is the function.
if [[ $funcstack[1] == _mgcompare ]]; then _mgcompare "$@"; else compdef _mgcompare mgcompare; fi
)",
                            commands, names);
}

}  // namespace mgcompare
