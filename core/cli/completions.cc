#include "cli/completions.h"

#include <fmt/core.h>

#include "cli/experiments.h"

namespace mgcompare {

std::vector<std::string> names_of(const OptionDescription& option) {
  if (option.is_positional()) return {};
  if (option.short_name.empty()) return {option.long_name};
  return {option.short_name, option.long_name};
}

int print_completions(const Command& command) {
  std::vector<std::string> experiments;
  for (const Experiment& experiment : installed_experiments()) experiments.push_back(experiment.name);
  fmt::print("{}", command.target == "bash"  ? bash_completions(experiments)
                   : command.target == "zsh" ? zsh_completions(experiments)
                                             : fish_completions(experiments));
  return kDone;
}

}  // namespace mgcompare
