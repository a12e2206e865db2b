#include "reports/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text_table.h"
#include "reports/comparison.h"
#include "reports/failures.h"
#include "reports/findings.h"
#include "reports/marked_rows.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

enum class Color { none = 0, bold = 1, red = 31, yellow = 33 };

std::string colored(const Style& style, Color color, const std::string& text) {
  if (!style.color || color == Color::none) return text;
  return fmt::format("\x1b[{}m{}\x1b[0m", static_cast<int>(color), text);
}

TextRow cell_line(const Comparison& comparison, const Cell& cell) {
  const TrialKey& trial = cell.trial();
  TextRow line = {plain(trial.strategy.label), fmt::format("{}:{}", to_string(trial.device_kind), trial.devices),
               fmt::format("{}", trial.global_batch)};
  if (!trial.variant.empty()) line[0] += fmt::format(" ({})", plain(trial.variant));
  if (!cell.marks.empty()) line[0] += " !";
  if (trial.ranks_per_device != 1) line[1] += fmt::format(" x {}", trial.ranks_per_device);
  if (cell.done.empty()) {
    line.push_back(cell.failed.empty() ? "not finished" : std::string(to_string(cell.failed.back()->result.status)));
    line.resize(comparison.target_accuracy > 0 ? 8 : 7, "");
    return line;
  }
  line.push_back(accuracy_text(cell.accuracy.median) + (cell.many_models ? " *" : ""));
  if (comparison.target_accuracy > 0)
    line.push_back(cell.reached_target == 0 ? "-" : seconds_text(cell.seconds_to_target.median));
  line.push_back(rate_text(cell.samples_per_second.median));
  line.push_back(cell.speed_up.count == 0 ? "-" : fmt::format("{:.2f}x", cell.speed_up.median));
  line.push_back(cell.efficiency.count == 0 ? "-" : percent_text(cell.efficiency.median));
  return line;
}

// The head and line `bold`, counted from the head, are bold.
std::string lines_text(const std::vector<TextRow>& lines, std::size_t left, std::size_t bold, const Style& style) {
  std::string text;
  std::size_t k = 0;
  for (const std::string& line : text_table(lines, left)) {
    text += colored(style, k == 0 || k == bold ? Color::bold : Color::none, "  " + line) + "\n";
    ++k;
  }
  return text;
}

std::string table(const Comparison& comparison, const Style& style) {
  std::vector<TextRow> lines = {{"strategy", "devices", "batch", "accuracy"}};
  if (comparison.target_accuracy > 0)
    lines[0].push_back(fmt::format("to {}", target_text(comparison.target_accuracy)));
  for (const char* head : {"samples/s", "speed-up", "efficiency"}) lines[0].push_back(head);
  for (const Cell& cell : comparison.cells) lines.push_back(cell_line(comparison, cell));
  return lines_text(lines, 2, comparison.ranking.empty() ? 0 : comparison.ranking.front() + 1, style);
}

std::string failure_lines(const Comparison& comparison, const Style& style) {
  const std::vector<Failure> all = failures(comparison);
  if (all.empty()) return "";
  std::size_t trials = 0;
  for (const Failure& failure : all) trials += failure.trials;
  std::string text =
      colored(style, Color::red, fmt::format("{} of {} trials {} not completed:", trials, comparison.trials, trials == 1 ? "was" : "were")) + "\n";
  for (const Failure& failure : all) {
    const std::string what =
        failure.cause.empty() ? std::string(to_string(failure.status)) : fmt::format("{} ({})", to_string(failure.status), failure.cause);
    text += fmt::format("  {}{}: {}\n", failure.title, count_of(failure), what);
  }
  return text;
}

}  // namespace

std::string table_text(const Table& table, const Style& style) {
  std::vector<TextRow> lines = {table.head};
  for (const TextRow& line : table.lines) {
    lines.emplace_back();
    for (const std::string& cell : line) lines.back().push_back(plain(cell));
  }
  const std::string text = lines_text(lines, table.left, 0, style);
  return style.utf8 ? text : ascii(text);
}

std::string closing_summary(const Run& run, const Style& style, Objective objective) {
  const Comparison comparison = compare_rows(run, objective);
  std::string text;
  for (const Finding& finding : findings(comparison)) {
    const bool undecided = finding.text.find("undecided") != std::string::npos;
    const Color color = undecided ? Color::yellow : text.empty() ? Color::bold : Color::none;
    text += fmt::format("{}{}\n", finding.level == 0 ? "" : "    ", colored(style, color, finding.text));
  }
  if (!comparison.cells.empty()) {
    text += fmt::format("\n{}", table(comparison, style));
    text += "  medians over repeats; speed-up is the median of the ratios by seed\n";
  }
  const bool many = std::any_of(comparison.cells.begin(), comparison.cells.end(),
                                [](const Cell& cell) { return cell.many_models && !cell.done.empty(); });
  if (many) text += "  * mean of separate models, one per rank\n";
  for (const std::string& line : legend_of_marks(comparison)) text += "  ! " + line + "\n";
  if (const std::string failed = failure_lines(comparison, style); !failed.empty()) text += fmt::format("\n{}", failed);
  return style.utf8 ? text : ascii(text);
}

}  // namespace mgcompare
