#include "reports/repetition.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/listed_batch.h"
#include "plan/plan.h"

namespace mgcompare {

Repetition repetition_of(const Run& run) {
  // Bracket runs cannot be selected by --only.
  const auto row = std::find_if(run.rows.begin(), run.rows.end(), [](const Row& one) { return one.trial.is_repeat(); });
  if (row == run.rows.end()) return {};
  Repetition repetition{fmt::format("{}trategy, devices, batch, variant and seed select a row; this command selects the first row of the plan.",
                                    row->trial.network.empty() ? "S" : "Network, s"),
                        ""};
  std::string config = in_shell(row->config->path), given;
  if (run.info.arguments) {
    for (const std::string& word : *run.info.arguments)
      given += " " + (word == "--set" || word == "--data" ? word : in_shell(word));
  } else {
    config = "config.yaml";
    repetition.intro += " This run did not record the options of its command line: save the config below, which includes them, as config.yaml.";
  }
  const TrialKey& trial = row->trial;
  const std::size_t batch = listed_batch(trial);
  // Whether the strategy also has rows with other labels.
  const bool shares_name = std::any_of(run.rows.begin(), run.rows.end(), [&](const Row& one) {
    return one.trial.strategy.name == trial.strategy.label && one.trial.strategy.label != trial.strategy.label;
  });
  repetition.command = fmt::format(
      "mgcompare run {}{} --only {}", config, given,
      in_shell(fmt::format("{}={},devices={}:{},batch={},{}variant={},seed={}", shares_name ? "as" : "strategy",
                           in_filter(trial.strategy.label), to_string(trial.device_kind), devices_number(trial), batch,
                           trial.network.empty() ? "" : fmt::format("model={},", in_filter(trial.network)),
                           trial.variant.empty() ? "base" : in_filter(trial.variant), trial.seed)));
  return repetition;
}

}  // namespace mgcompare
