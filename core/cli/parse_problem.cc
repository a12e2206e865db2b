#include "cli/parse_problem.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/command_description.h"
#include "config/keys.h"
#include "config/problem.h"

namespace mgcompare {
namespace {

// "there is no option '--epochs'; `--set epochs=VALUE` changes this setting"
std::string no_option_text(const std::string& word) {
  std::string key = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  key = key.substr(0, key.find('='));
  std::replace(key.begin(), key.end(), '-', '_');
  const std::vector<std::string> keys = all_names();
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const std::string& name) { return name == key || name.ends_with("." + key); });
  const std::string text = fmt::format("there is no option '{}'", word.substr(0, word.find('=')));
  return found == keys.end() ? text : fmt::format("{}; `--set {}=VALUE` changes this setting of the config", text, *found);
}

const CommandDescription* description_of(const CLI::App* command) {
  std::vector<std::string> words;
  for (; command->get_parent() != nullptr; command = command->get_parent()) words.insert(words.begin(), command->get_name());
  const auto& all = all_commands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const CommandDescription& one) { return one.words == words; });
  return found == all.end() ? nullptr : &*found;
}

std::string needs_text(const CLI::App& command, const CommandDescription& description) {
  std::vector<std::string> missing;
  for (const CLI::Option* option : command.get_options())
    if (option->get_required() && option->count() == 0) missing.push_back(option->get_name());
  if (missing.empty()) return "";
  return fmt::format("`mgcompare {}` needs {}; write, for instance, `{}`", description.name(), listed(missing), description.examples.front());
}

std::string too_much_text(const std::string& word, const CommandDescription& description) {
  const std::string arguments = description.arguments();
  return fmt::format("'{}' is not expected; the command is `mgcompare {}{}{}`", word, description.name(), arguments.empty() ? "" : " ", arguments);
}

// Of an option of the command, or of all commands.
std::string no_value_text(const std::string& name, const CommandDescription& description) {
  for (const auto* options : {&description.options, &general_options()})
    for (const OptionDescription& option : *options)
      if (name == option.long_name && !option.value.empty()) return fmt::format("{} needs a value; write {} {}", name, name, option.value);
  return "";
}

}  // namespace

std::string parse_problem(const CLI::App& app, const CLI::ParseError& error) {
  // An option that does not exist explains more than what is missing beside it.
  const std::vector<std::string> unknown = app.remaining(true);
  if (!unknown.empty() && unknown.front().starts_with('-')) return no_option_text(unknown.front());
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const CommandDescription* const description = description_of(command);
  const std::string text = error.what();
  std::string better;
  if (const std::size_t excludes = text.find(" excludes "); dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr && excludes != text.npos)
    better = fmt::format("{} and {} cannot be given together; leave one of them out", text.substr(0, excludes), text.substr(excludes + 10));
  else if (description == nullptr)
    return text;
  else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    better = needs_text(*command, *description);
  else if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !unknown.empty())
    better = too_much_text(unknown.front(), *description);
  else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    better = no_value_text(text.substr(0, text.find(':')), *description);
  return better.empty() ? text : better;
}

}  // namespace mgcompare
