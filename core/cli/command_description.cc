#include "cli/command_description.h"

#include <algorithm>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/command_options.h"
#include "cli/command_texts.h"

namespace mgcompare {
namespace {

OptionDescription described(const CLI::App& app, const OptionText& text) {
  const CLI::Option* option = app.get_option_no_throw(text.name);
  if (option == nullptr) throw std::logic_error(fmt::format("{} has no option {}", app.get_name(), text.name));
  OptionDescription description;
  if (!option->get_snames().empty()) description.short_name = "-" + option->get_snames().front();
  if (!option->get_lnames().empty()) description.long_name = "--" + option->get_lnames().front();
  description.value = description.is_positional() ? text.name : text.value;
  description.text = text.text;
  description.kind = text.kind;
  description.choices = text.choices;
  description.required = option->get_required();
  description.repeatable = option->get_expected_max() > 1;
  return description;
}

bool is_named(const CLI::Option& option, const OptionText& text) {
  const std::string name = text.name;
  return option.check_name(name) || option.get_name(true) == name;
}

void require_texts(const CLI::App& app, const std::vector<OptionText>& texts) {
  const std::vector<OptionText> general = general_texts();
  for (const CLI::Option* option : app.get_options()) {
    const auto describes = [&](const OptionText& text) { return is_named(*option, text); };
    if (std::none_of(texts.begin(), texts.end(), describes) && std::none_of(general.begin(), general.end(), describes))
      throw std::logic_error(fmt::format("the option {} of {} has no text in command_texts.cc", option->get_name(), app.get_name()));
  }
}

std::vector<CommandDescription> joined() {
  Command command;
  std::vector<std::string> filters;
  CLI::App app("", "mgcompare");
  add_commands(app, command, filters);
  std::vector<CommandDescription> all;
  for (const CommandText& text : command_texts()) {
    const CLI::App* described_app = &app;
    for (const std::string& word : text.words) described_app = described_app->get_subcommand(word);
    require_texts(*described_app, text.options);
    CommandDescription description{text.words, text.purpose, {}, text.examples};
    for (const OptionText& option : text.options) description.options.push_back(described(*described_app, option));
    all.push_back(std::move(description));
  }
  return all;
}

}  // namespace

std::string CommandDescription::name() const { return fmt::format("{}", fmt::join(words, " ")); }

std::string CommandDescription::arguments() const {
  std::string all;
  for (const OptionDescription& option : options) {
    if (!option.is_positional()) continue;
    const std::string name = option.value + (option.repeatable ? "..." : "");
    all += option.required ? " " + name : " [" + name + "]";
  }
  return all.empty() ? all : all.substr(1);
}

const std::vector<CommandDescription>& all_commands() {
  static const std::vector<CommandDescription> all = joined();
  return all;
}

const std::vector<OptionDescription>& general_options() {
  static const std::vector<OptionDescription> all = [] {
    std::vector<OptionDescription> options;
    Command command;
    std::vector<std::string> filters;
    CLI::App app("", "mgcompare");
    add_commands(app, command, filters);
    for (const OptionText& text : general_texts()) options.push_back(described(*app.get_subcommand("run"), text));
    return options;
  }();
  return all;
}

}  // namespace mgcompare
