#include "modules/strategy_probe.h"

#include <fmt/format.h>

#include "base/text.h"
#include "modules/loaded_libraries.h"
#include "modules/plugin_host.h"
#include "modules/strategy_options.h"
#include "plan/trait_texts.h"
#include "results/cause.h"

namespace mgcompare {
namespace {

// Texts of a plugin have any length.
void shorten(StrategySummary& summary) {
  for (OptionSummary& option : summary.options)
    for (std::string* text : {&option.key, &option.type, &option.value, &option.range, &option.help}) *text = shortened(*text);
  for (OptionProblem& problem : summary.problems)
    for (std::string* text : {&problem.key, &problem.text}) *text = shortened(*text);
}

}  // namespace

StrategySummary probe_strategy(const ProbeQuestion& question, const std::function<void()>& opened) {
  StrategySummary summary;
  StrategyOptions options(question.strategy.options);
  try {
    open_plugin(question.plugin_file);
    opened();
    const std::unique_ptr<Strategy> strategy = make_strategy(question.plugin_file, options, question.facts);
    summary.traits = strategy->traits();
    expect_possible_traits(question.strategy.name, summary.traits);
    expect_same_traits(question.strategy.name, texts_of(summary.traits), strategy->traits());
    summary.problems = options.problems();
    for (OptionProblem& problem : summary.problems)
      if (problem.of_plugin) problem.text = fmt::format("{} {}", plain(question.plugin_file), problem.text);
  } catch (const ConfusedLibraries&) {
    throw;  // a new worker can answer
  } catch (const UnusablePlugin& error) {
    summary.problems.push_back({"", error.what(), false, true});
  } catch (...) {
    const Cause cause = cause_of(std::current_exception());
    // What the plugin took may never be freed: the worker ends.
    if (cause.status == TrialStatus::out_of_memory) throw;
    summary.problems.push_back({"", cause.sentence});
  }
  summary.options = options.asked();
  shorten(summary);
  return summary;
}

}  // namespace mgcompare
