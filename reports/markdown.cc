#include "reports/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/problem.h"
#include "reports/best_rows.h"
#include "reports/charts/chart.h"
#include "reports/cost.h"
#include "reports/device_kinds.h"
#include "reports/drift.h"
#include "reports/explain.h"
#include "reports/failures.h"
#include "reports/framework_findings.h"
#include "reports/link_need.h"
#include "reports/machine_tables.h"
#include "reports/overview_findings.h"
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

std::string sections(const std::vector<Table>& tables) {
  std::string text;
  for (const Table& table : tables) text += markdown_section(table);
  return text;
}

std::string sections_if_any(const std::vector<Table>& tables) {
  std::string text;
  for (const Table& table : tables) text += section_if_any(table);
  return text;
}

std::string sections_if_short(const std::vector<Table>& tables) {
  std::string text;
  for (const Table& table : tables) text += section_if_short(table);
  return text;
}

std::string origin_of_data(const Overview& overview) {
  std::string text;
  for (const Comparison* part : overview.runs()) {
    const RunInfo& info = part->run->info;
    std::size_t done = 0, trials = 0;
    bool has_causes = false;
    for (const Comparison& other : overview.parts) {
      if (other.run != part->run) continue;
      done += other.done;
      trials += other.trials;
      has_causes |= other.finished > other.done;
    }
    text += fmt::format("\n{}Data: {}{}, SHA-256 {}. Begun {} with mgcompare {}. {} of {} trials were completed{}.\n",
                        overview.has_runs() ? fmt::format("{} ({}): ", markdown(part->infrastructure), markdown(part->run->directory)) : "",
                        info.data_name.empty() ? "not recorded" : markdown(info.data_name),
                        info.data_origin.empty() ? "" : fmt::format(" ({})", markdown(info.data_origin)),
                        info.data_fingerprint.empty() ? "unknown" : markdown(info.data_fingerprint), markdown(info.started),
                        markdown(info.program_version), done, trials,
                        has_causes ? "; see the causes in Trials that were not completed" : "");
  }
  return text;
}

std::string introduction(const Overview& overview) {
  std::vector<std::string> names;
  for (const Comparison* part : overview.runs())
    if (std::find(names.begin(), names.end(), part->run->info.name) == names.end()) names.push_back(part->run->info.name);
  std::string text = fmt::format("# {}\n\n", markdown(listed(names)));
  if (const std::string partial = partial_text(overview); !partial.empty()) text += markdown_sentence(partial) + "\n\n";
  bool is_first = true;
  for (const Finding& finding : findings(overview)) {
    if (finding.is_title) {
      text += fmt::format("{}**{}**\n\n", is_first ? "" : "\n", markdown(finding.text));
    } else {
      text += fmt::format("{}- {}.\n", finding.level == 0 ? "" : "  ", markdown_sentence(finding.text));
    }
    is_first = false;
  }
  return text + origin_of_data(overview);
}

std::string reasons_section(const Overview& overview) {
  std::string text;
  for (const Comparison& part : overview.parts)
    for (const Reason& reason : explain(part))
      text += fmt::format("- **{}**: {}{} {}\n", markdown(reason.title), markdown(overview.prefix_of(part)),
                          markdown_sentence(reason.evidence), markdown_sentence(reason.action));
  return text.empty() ? "" : "\n## Why\n\n" + text;
}

// Without gnuplot there is no picture although the run has curves; then no message is shown.
std::string curves(const Overview& overview, const std::string& picture) {
  if (!picture.empty()) return fmt::format("\n![Efficiency and speed-up against devices]({})\n", picture);
  std::string text;
  for (const Comparison& part : overview.parts)
    if (scaling_charts(part).empty()) text += fmt::format("\n{}\n", markdown_sentence(overview.prefix_of(part) + no_curve(part)));
  return text;
}

std::string prediction_section(const Overview& overview) {
  std::map<const Comparison*, std::vector<Prediction>> all;
  for (const Comparison& part : overview.parts) all[&part] = predict(part, usual_devices(part));
  std::string text;
  for (const Table& table : tables_of(overview, [&](const Comparison& part) { return prediction_table(all.at(&part)); }))
    text += table.lines.empty() ? "\n## Prediction\n" : markdown_section(table);
  for (const Table& table : tables_of(overview, [&](const Comparison& part) { return link_need_table(link_needs(part, all.at(&part))); }))
    if (!table.lines.empty()) text += markdown_section(table);
  for (const Comparison& part : overview.parts) {
    if (all[&part].empty()) text += fmt::format("\n{}\n", markdown_sentence(overview.prefix_of(part) + no_prediction(part)));
    for (const std::string& sentence : predicted_break_even(all[&part])) text += fmt::format("\n{}\n", markdown_sentence(overview.prefix_of(part) + sentence));
    for (const std::string& problem : prediction_problems(all[&part])) text += fmt::format("\n{}\n", markdown_sentence(overview.prefix_of(part) + problem));
  }
  return text;
}

std::string framework_section(const Overview& overview) {
  std::string text;
  for (const Comparison& part : overview.parts)
    for (const std::string& sentence : framework_sentences(part)) text += fmt::format("- {}{}.\n", markdown(overview.prefix_of(part)), markdown_sentence(sentence));
  if (text.empty()) return "";
  const std::string answers = sections_if_any(tables_of(overview, framework_answer_table)), modes = sections_if_any(tables_of(overview, mode_table));
  return "\n## By framework\n\n" + text + answers + modes + sections_if_any(tables_of(overview, framework_table)) + sections_if_any(tables_of(overview, like_table));
}

std::string failure_section(const Overview& overview) {
  std::string text = sections(tables_of(overview, failure_table));
  for (const Comparison& part : overview.parts)
    for (const auto& [title, log] : failure_logs(part))
      text += fmt::format("\n{}:\n\n{}", markdown_sentence(overview.prefix_of(part) + title), markdown_code(log));
  return text;
}

// Without the heading if no trial failed.
std::string failures_if_any(const Overview& overview) {
  const std::vector<Table> tables = tables_of(overview, failure_table);
  const bool any = std::any_of(tables.begin(), tables.end(), [](const Table& table) { return !table.lines.empty(); });
  return any ? failure_section(overview) : "";
}

std::string notes(const Overview& overview) {
  std::string text;
  for (const std::string& note : notes_of(overview)) text += fmt::format("- {}\n", markdown_sentence(note));
  return text.empty() ? "" : fmt::format("\n## Notes\n\n{}", text);
}

std::string config_section(const Run& run, const std::string& where) {
  const Repetition again = repetition_of(run);
  return (again.command.empty() ? ""
                                : fmt::format("\n## To run one row again{}\n\n{}\n\n{}", where, markdown_sentence(again.intro),
                                              markdown_code(again.command, "sh"))) +
         "\n## Config" + where + "\n\nWith all defaults; SHA-256 " + markdown(run.info.config_hash) + ".\n\n" +
         markdown_code(run.info.config_yaml, "yaml");
}

std::string origin_text(const Overview& overview) {
  std::string text = sections(run_tables_of(overview, environment_table)) + sections(run_tables_of(overview, order_table));
  for (const Comparison* part : overview.runs())
    text += config_section(*part->run, overview.has_runs() ? ", " + markdown(part->infrastructure) : "");
  return text;
}

}  // namespace

std::string markdown_section(const Table& table) {
  std::string text = fmt::format("\n## {}\n\n", markdown(table.title));
  if (!table.intro.empty()) text += markdown_sentence(table.intro) + "\n\n";
  for (const auto& [name, value] : table.facts) text += fmt::format("* **{}**: {}\n\n", markdown(name), markdown(value));
  return text + table_text(table);
}

std::string markdown_report(const Overview& overview, const std::string& picture) {
  const auto of = [&](const auto& table) { return tables_of(overview, table); };
  if (!overview.has_results()) {
    return introduction(overview) + "\n" + markdown(kNoResults) + "\n" + failures_if_any(overview) + notes(overview) +
           sections_if_any(run_tables_of(overview, links_table)) + origin_text(overview);
  }
  // In the order of the page.
  return introduction(overview) + curves(overview, picture) + section_if_any(device_table(overview)) + sections_if_any(of(best_rows_table)) +
         sections(of(speed_table)) + framework_section(overview) + sections_if_any(of(target_table)) + sections_if_any(of(cost_table)) +
         sections_if_any(of(epoch_table)) + sections(of(time_table)) + sections_if_short(of(rank_table)) + sections_if_short(of(clock_table)) +
         sections_if_any(of(ladder_table)) + sections(of(bytes_table)) + sections_if_any(of(metric_table)) + reasons_section(overview) +
         sections_if_any(of(drift_table)) + sections_if_any(of(break_even_table)) + prediction_section(overview) + sections(of(results_table)) +
         sections(of(settings_table)) + failure_section(overview) + sections_if_any(of(outlier_table)) + notes(overview) +
         sections_if_any(of(placement_table)) + sections_if_any(run_tables_of(overview, links_table)) + origin_text(overview);
}

}  // namespace mgcompare
