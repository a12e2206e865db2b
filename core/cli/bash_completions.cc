// The completions of bash. They are complete without the package bash-completion, which only loads them.

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/completions.h"

namespace mgcompare {
namespace {

// bash replaces what follows the last = or : of a word, so that is left of each candidate.
constexpr std::string_view kBashFunctions = R"bash(# Completions of mgcompare for bash, written by `mgcompare completions bash`.

# Adds the candidates that begin with the word.
_mgcompare_add() {
  local candidate
  while IFS= read -r candidate; do COMPREPLY+=("${candidate#"$kept"}"); done < <(compgen "$@" -- "$word")
}

_mgcompare_directories() {
  _mgcompare_add -d
  compopt -o filenames 2>/dev/null
}

_mgcompare_files() {
  _mgcompare_add -f
  compopt -o filenames 2>/dev/null
}

_mgcompare_configs() {
  local file
  while IFS= read -r file; do
    if [[ -d $file || $file == *.yaml || $file == *.yml ]]; then COMPREPLY+=("${file#"$kept"}"); fi
  done < <(compgen -f -- "$word")
  if ((${#COMPREPLY[@]})); then compopt -o filenames 2>/dev/null; fi
  _mgcompare_add -W "$experiments"
}

# Names of keys first, and their values after the =.
_mgcompare_assignments() {
  local item items=
  for item in $1; do
    if [[ $word == *=* ]]; then [[ $item == *= ]] || items+=" $item"
    elif [[ $item == *= ]]; then items+=" $item"; fi
  done
  _mgcompare_add -W "$items"
  if [[ $word != *=* ]]; then compopt -o nospace 2>/dev/null; fi
}

)bash";

std::string action(const OptionDescription& option) {
  const std::string choices = fmt::format("{}", fmt::join(option.choices, " "));
  switch (option.kind) {
    case ValueKind::choice: return fmt::format("_mgcompare_add -W '{}'", choices);
    case ValueKind::choice_or_file: return fmt::format("_mgcompare_files; _mgcompare_add -W '{}'", choices);
    case ValueKind::assignment: return fmt::format("_mgcompare_assignments '{}'", choices);
    case ValueKind::file: return "_mgcompare_files";
    case ValueKind::directory: return "_mgcompare_directories";
    case ValueKind::config: return "_mgcompare_configs";
    case ValueKind::flag:
    case ValueKind::text: break;
  }
  return ":";
}

std::string values_of(const CommandDescription& command, const OptionDescription& option) {
  std::string patterns;
  for (const std::string& name : names_of(option))
    patterns += fmt::format("{}'{} {}'", patterns.empty() ? "" : " | ", command.name(), name);
  return fmt::format("    {}) {}; return ;;\n", patterns, action(option));
}

std::string arguments_of(const CommandDescription& command) {
  std::string text;
  int number = 0;
  for (const OptionDescription& option : command.options) {
    if (!option.is_positional()) continue;
    text += fmt::format("    '{} '{}) {} ;;\n", command.name(), option.repeatable ? "*" : std::to_string(++number), action(option));
  }
  return text;
}

}  // namespace

std::string bash_completions(const std::vector<std::string>& experiments) {
  std::string names, with_value, values, options, arguments, below;
  const auto add_options = [&](const std::string& command, const std::vector<OptionDescription>& described) {
    std::string all;
    for (const OptionDescription& option : described)
      for (const std::string& name : names_of(option)) all += " " + name;
    options += fmt::format("    '{}') list+='{}' ;;\n", command, all);
  };
  const auto add_value = [&](const CommandDescription& command, const OptionDescription& option) {
    if (option.is_positional() || option.kind == ValueKind::flag) return;
    values += values_of(command, option);
    for (const std::string& name : names_of(option)) with_value += fmt::format(" '{} {}'", command.name(), name);
  };
  std::string general;
  for (const OptionDescription& option : general_options())
    for (const std::string& name : names_of(option)) general += " " + name;
  for (const CommandDescription& command : all_commands()) {
    if (command.words.size() == 1) names += " " + command.words[0];
    else below += fmt::format("    '{0}') command='{0}'; number=0; continue ;;\n", command.name());
    add_options(command.name(), command.options);
    for (const OptionDescription& option : command.options) add_value(command, option);
    for (const OptionDescription& option : general_options()) add_value(command, option);
    arguments += arguments_of(command);
    std::string words;
    for (const CommandDescription& other : all_commands())
      if (other.words.size() == 2 && command.words.size() == 1 && other.words[0] == command.words[0]) words += " " + other.words[1];
    if (!words.empty()) arguments += fmt::format("    '{} '1) _mgcompare_add -W '{}' ;;\n", command.name(), words);
  }
  return std::string(kBashFunctions) + fmt::format(R"bash(_mgcompare() {{
  local line=${{COMP_LINE:0:COMP_POINT}} word= previous= command= number=0 each list names='{}'
  local experiments='{}' with_value=({})
  local -a words
  read -ra words <<<"$line"
  if [[ $line == *[[:space:]] ]]; then words+=(''); fi
  word=${{words[-1]}}
  local kept=
  if [[ $word == *[=:]* ]]; then kept=${{word%"${{word##*[=:]}}"}}; fi
  COMPREPLY=()

  # The command, how many of its arguments stand before the word, and the option whose value the word is.
  for each in "${{words[@]:1:${{#words[@]}}-2}}"; do
    if [[ $previous ]]; then previous=; continue; fi
    case $each in
      -?*) for list in "${{with_value[@]}}"; do if [[ "${{command:-run}} $each" == "$list" ]]; then previous=$each; fi; done; continue ;;
    esac
    if [[ ! $command ]]; then
      if [[ " $names " == *" $each "* ]]; then command=$each; continue; fi
      command=run
    fi
    case "$command $each" in
{}    esac
    number=$((number + 1))
  done
  case "${{command:-run}} $previous" in
{}  esac

  list='{}'
  if [[ $word == -* ]]; then
    case ${{command:-run}} in
{}    esac
    if [[ ! $command ]]; then list+=' --version'; fi
    _mgcompare_add -W "$list"
    return
  fi
  if [[ ! $command ]]; then
    _mgcompare_configs
    _mgcompare_add -W "$names"
    return
  fi
  case "$command $((number + 1))" in
{}  esac
}}

complete -F _mgcompare mgcompare
)bash",
                                               names, fmt::join(experiments, " "), with_value, below, values, general, options, arguments);
}

}  // namespace mgcompare
