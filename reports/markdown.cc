#include "reports/markdown.h"

#include <fmt/format.h>

#include "reports/charts/chart.h"
#include "reports/drift.h"
#include "reports/explain.h"
#include "reports/failures.h"
#include "reports/findings.h"
#include "reports/machine_tables.h"
#include "reports/prediction.h"
#include "reports/repetition.h"
#include "reports/tables.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

// Escapes the cells, so that callers cannot forget to.
std::string table_text(const Table& table) {
  if (table.lines.empty()) return "None.\n";
  std::string text = "|";
  for (const std::string& cell : table.head) text += fmt::format(" {} |", markdown(cell));
  text += "\n|";
  for (std::size_t i = 0; i < table.head.size(); ++i) text += i < table.left ? " --- |" : " ---: |";
  text += "\n";
  for (const TextRow& line : table.lines) {
    text += "|";
    for (const std::string& cell : line) text += fmt::format(" {} |", markdown(cell));
    text += "\n";
  }
  return text;
}

// Empty if the table is empty.
std::string section_if_any(const Table& table) { return table.lines.empty() ? "" : markdown_section(table); }

// Longer tables are only on the page, where they can be folded.
constexpr std::size_t kShort = 16;

std::string section_if_short(const Table& table) { return table.lines.size() > kShort ? "" : section_if_any(table); }

std::string introduction(const Comparison& comparison) {
  const RunInfo& info = comparison.run->info;
  std::string text = fmt::format("# {}\n\n", markdown(info.name));
  if (const std::string partial = partial_text(comparison); !partial.empty()) text += markdown(partial) + "\n\n";
  for (const Finding& finding : findings(comparison)) {
    text += fmt::format("{}- {}.\n", finding.level == 0 ? "" : "  ", markdown(finding.text));
  }
  text += fmt::format("\nData: {}{}, SHA-256 {}. Begun {} with mgcompare {}. {} of {} trials were completed{}.\n",
                      info.data_name.empty() ? "not recorded" : markdown(info.data_name),
                      info.data_origin.empty() ? "" : fmt::format(" ({})", markdown(info.data_origin)),
                      info.data_fingerprint.empty() ? "unknown" : markdown(info.data_fingerprint),
                      markdown(info.started), markdown(info.program_version), comparison.done, comparison.trials,
                      comparison.finished > comparison.done ? "; see the causes in Trials that were not completed" : "");
  return text;
}

std::string reasons_section(const Comparison& comparison) {
  std::string text;
  for (const Reason& reason : explain(comparison)) {
    text += fmt::format("- **{} {}**: {} {}\n", markdown(reason.rule), markdown(reason.title), markdown(reason.evidence),
                        markdown(reason.action));
  }
  return text.empty() ? "" : "\n## Why\n\n" + text;
}

// Without gnuplot there is no picture although the run has curves; then no message is shown.
std::string curves(const Comparison& comparison, const std::string& picture) {
  if (!picture.empty()) return fmt::format("\n![Efficiency and speed-up against devices]({})\n", picture);
  return scaling_charts(comparison).empty() ? fmt::format("\n{}\n", markdown(no_curve(comparison))) : "";
}

std::string prediction_section(const Comparison& comparison) {
  const std::vector<Prediction> predictions = predict(comparison, usual_devices(comparison));
  const Table table = prediction_table(predictions);
  std::string text = table.lines.empty() ? "\n## Prediction\n" : markdown_section(table);
  if (predictions.empty()) text += fmt::format("\n{}\n", markdown(no_prediction(comparison)));
  for (const std::string& problem : prediction_problems(predictions)) text += fmt::format("\n{}\n", markdown(problem));
  return text;
}

std::string failure_section(const Comparison& comparison) {
  std::string text = markdown_section(failure_table(comparison));
  for (const auto& [title, log] : failure_logs(comparison))
    text += fmt::format("\n{}:\n\n{}", markdown(title), markdown_code(log));
  return text;
}

std::string notes(const Comparison& comparison) {
  std::string text;
  for (const std::string& note : notes_of(comparison)) text += fmt::format("- {}\n", markdown(note));
  return text.empty() ? "" : fmt::format("\n## Notes\n\n{}", text);
}

std::string origin_section(const Run& run) {
  const Repetition again = repetition_of(run);
  return markdown_section(environment_table(run)) + markdown_section(order_table(run)) +
         (again.command.empty() ? ""
                                : fmt::format("\n## To run one row again\n\n{}\n\n{}", markdown(again.intro),
                                              markdown_code(again.command, "sh"))) +
         "\n## Config\n\nWith all defaults; SHA-256 " + markdown(run.info.config_hash) + ".\n\n" +
         markdown_code(run.info.config_yaml, "yaml");
}

}  // namespace

std::string markdown_section(const Table& table) {
  std::string text = fmt::format("\n## {}\n\n", markdown(table.title));
  if (!table.intro.empty()) text += markdown(table.intro) + "\n\n";
  for (const auto& [name, value] : table.facts) text += fmt::format("* **{}**: {}\n\n", markdown(name), markdown(value));
  return text + table_text(table);
}

std::string markdown_report(const Comparison& comparison, const std::string& picture) {
  const Run& run = *comparison.run;
  // In the order of the page.
  return introduction(comparison) + curves(comparison, picture) + markdown_section(speed_table(comparison)) +
         section_if_any(target_table(comparison)) + section_if_any(epoch_table(comparison)) +
         markdown_section(time_table(comparison)) + section_if_short(rank_table(comparison)) +
         section_if_short(clock_table(comparison)) +
         section_if_any(ladder_table(comparison)) + markdown_section(bytes_table(comparison)) +
         section_if_any(metric_table(comparison)) + reasons_section(comparison) + section_if_any(drift_table(comparison)) +
         section_if_any(break_even_table(comparison)) + prediction_section(comparison) +
         markdown_section(results_table(comparison)) + failure_section(comparison) +
         section_if_any(outlier_table(comparison)) + notes(comparison) + section_if_any(placement_table(comparison)) +
         section_if_any(links_table(run)) + origin_section(run);
}

}  // namespace mgcompare
