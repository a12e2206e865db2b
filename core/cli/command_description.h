#pragma once

// The commands of the program with their options, as data. Help, the manual page and the completions of shells are written from it.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mgcompare {

// What a shell offers for the value of an option.
enum class ValueKind {
  flag,                             // has no value
  text,                             // nothing
  choice,                           // one of `choices`
  choice_or_file,
  assignment,                       // NAME=VALUE: choices that end in = are names
  file,
  directory,
  config,                           // an installed experiment, or a file
};

struct OptionDescription {
  std::string short_name;           // "-o"; may be empty
  std::string long_name;            // "--output"; empty for an argument without a name
  std::string value;                // "DIR"; empty for a flag
  std::string text;
  ValueKind kind = ValueKind::flag;
  std::vector<std::string> choices;
  bool required = false, repeatable = false;

  bool is_positional() const { return long_name.empty(); }
};

struct CommandDescription {
  std::vector<std::string> words;   // "plugins", "new"
  std::string purpose;              // one sentence
  std::vector<OptionDescription> options;  // without the general ones
  std::vector<std::string> examples;

  std::string name() const;         // "plugins new"
  // The arguments after the name: "CONFIG [DIR]".
  std::string arguments() const;
};

// All commands in the order of the help. Throws std::logic_error if an option is not described.
const std::vector<CommandDescription>& all_commands();
// The options of every command.
const std::vector<OptionDescription>& general_options();
// Exit codes with their meaning.
const std::vector<std::pair<std::string, std::string>>& exit_codes();
// Environment variables with their meaning.
const std::vector<std::pair<std::string, std::string>>& environment_variables();

}  // namespace mgcompare
