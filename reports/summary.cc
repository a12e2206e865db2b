#include "reports/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <vector>

#include "base/text_table.h"
#include "reports/comparison.h"
#include "reports/cost.h"
#include "reports/failures.h"
#include "reports/infrastructure.h"
#include "reports/learning_rate.h"
#include "reports/marked_rows.h"
#include "reports/overview_findings.h"
#include "reports/text.h"
#include "results/results_store.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

enum class Color { none = 0, bold = 1, red = 31, yellow = 33 };

std::string colored(const Style& style, Color color, const std::string& text) {
  if (!style.color || color == Color::none) return text;
  return fmt::format("\x1b[{}m{}\x1b[0m", static_cast<int>(color), text);
}

// `columns`: of the lines; those of rows without results end early.
TextRow cell_line(const Comparison& part, const Cell& cell, bool has_target, bool has_price, std::size_t columns) {
  const TrialKey& trial = cell.trial();
  TextRow line = {plain(trial.strategy.label), fmt::format("{}:{}", to_string(trial.device_kind), devices_number(trial)),
               fmt::format("{}", trial.global_batch)};
  if (!trial.variant.empty()) line[0] += fmt::format(" ({})", plain(trial.variant));
  if (!cell.marks.empty()) line[0] += " !";
  if (trial.ranks_per_device != 1) line[1] += fmt::format(" x {}", trial.ranks_per_device);
  if (cell.done.empty()) {
    line.push_back(cell.failed.empty() ? "not finished" : std::string(to_string(cell.failed.back()->result.status)));
    line.resize(columns, "");
    return line;
  }
  line.push_back(accuracy_text(cell.accuracy.median) + (cell.many_models ? " *" : ""));
  if (has_target)
    line.push_back(cell.reached_target == 0 ? "-"
                   : cell.reached_target == cell.done.size()
                       ? seconds_text(cell.seconds_to_target.median)
                       : fmt::format("{} ({} of {})", seconds_text(cell.seconds_to_target.median), cell.reached_target, cell.done.size()));
  if (has_price) {
    const Spread cost = cost_of(part, cell);
    line.push_back(cost.count == 0 ? "-" : cost_text(cost.median));
  }
  line.push_back(rate_text(cell.samples_per_second.median));
  line.push_back(cell.speed_up.count == 0 ? "-" : fmt::format("{:.2f}x", cell.speed_up.median));
  line.push_back(cell.efficiency.count == 0 ? "-" : percent_text(cell.efficiency.median));
  return line;
}

// The head and the lines `bold`, counted from the head, are bold.
std::string lines_text(const std::vector<TextRow>& lines, std::size_t left, const std::set<std::size_t>& bold, const Style& style) {
  std::string text;
  std::size_t k = 0;
  for (const std::string& line : text_table(lines, left)) {
    text += colored(style, k == 0 || bold.contains(k) ? Color::bold : Color::none, "  " + line) + "\n";
    ++k;
  }
  return text;
}

// Parts whose target differs have a column that does not name it.
std::string target_head(const Overview& overview) {
  std::set<std::string> heads;
  for (const Comparison& part : overview.parts)
    if (part.target_accuracy > 0) heads.insert("to " + target_text(part.target_accuracy));
  return heads.empty() ? "" : heads.size() == 1 ? *heads.begin() : "to target";
}

// Columns that are left out where the lines would be longer than the terminal: the one that is missed least comes last.
struct ExtraColumn {
  const char* head;
  std::string (*text)(const Cell&);
};

constexpr ExtraColumn kExtraColumns[] = {
    {"total", [](const Cell& cell) { return seconds_text(cell.seconds_total.median); }},
    {"rate", [](const Cell& cell) { return fmt::format("{:.4g}", learning_rate_of(*cell.first)); }},
    {"train acc.", [](const Cell& cell) { return accuracy_text(cell.train_accuracy.median); }},
};

bool fits(const std::vector<TextRow>& lines, std::size_t left, std::size_t width) {
  constexpr std::size_t kIndentation = 2;
  const std::vector<std::string> texts = text_table(lines, left);
  return std::all_of(texts.begin(), texts.end(), [&](const std::string& text) { return text.size() + kIndentation <= width; });
}

void add_extra_columns(const std::vector<const Cell*>& cells, std::size_t left, std::size_t width, std::vector<TextRow>& lines) {
  for (const ExtraColumn& column : kExtraColumns) {
    std::vector<TextRow> wider = lines;
    wider[0].push_back(column.head);
    for (std::size_t k = 0; k < cells.size(); ++k) wider[k + 1].push_back(cells[k]->done.empty() ? "" : column.text(*cells[k]));
    if (!fits(wider, left, width)) return;
    lines = std::move(wider);
  }
}

std::string table(const Overview& overview, const Style& style) {
  const std::string target = target_head(overview);
  std::vector<TextRow> lines = {{"strategy", "devices", "batch", "accuracy"}};
  if (!target.empty()) lines[0].push_back(target);
  const bool has_price = std::any_of(overview.parts.begin(), overview.parts.end(), [](const Comparison& part) { return part.price_per_device_hour > 0; });
  if (has_price) lines[0].push_back("cost");
  for (const char* head : {"samples/s", "speed-up", "efficiency"}) lines[0].push_back(head);
  std::vector<const Cell*> cells;
  std::set<std::size_t> bold;
  for (const Comparison& part : overview.parts) {
    if (!part.ranking.empty()) bold.insert(lines.size() + part.ranking.front());
    for (const Cell& cell : part.cells) {
      lines.push_back(cell_line(part, cell, !target.empty(), has_price, lines[0].size()));
      cells.push_back(&cell);
    }
  }
  std::size_t left = 2;
  const auto put_in_front = [&](const char* head, const std::function<std::string(const Comparison&)>& name) {
    ++left;
    std::size_t k = 0;
    lines[k++].insert(lines[0].begin(), head);
    for (const Comparison& part : overview.parts)
      for (std::size_t cell = 0; cell < part.cells.size(); ++cell, ++k) lines[k].insert(lines[k].begin(), plain(name(part)));
  };
  if (overview.has_networks()) put_in_front("network", network_of);
  if (overview.has_runs()) put_in_front("infrastructure", [](const Comparison& part) { return part.infrastructure; });
  // Efficiency follows from speed-up and devices.
  constexpr std::size_t kFrontless = 2;
  if (left == kFrontless || fits(lines, left, style.columns)) add_extra_columns(cells, left, style.columns, lines);
  else for (TextRow& line : lines) line.pop_back();
  return lines_text(lines, left, bold, style);
}

std::string failure_lines(const Overview& overview, const Style& style) {
  std::vector<Failure> all;
  std::size_t trials = 0, planned = 0;
  for (const Comparison& part : overview.parts) {
    const std::string title = overview.title_of(part);
    for (Failure& failure : failures(part)) {
      if (!title.empty()) failure.title = fmt::format("{}: {}", title, failure.title);
      all.push_back(std::move(failure));
    }
    planned += part.trials;
  }
  if (all.empty()) return "";
  for (const Failure& failure : all) trials += failure.trials;
  std::string text =
      colored(style, Color::red, fmt::format("{} of {} trials {} not completed:", trials, planned, trials == 1 ? "was" : "were")) + "\n";
  for (const Failure& failure : all) {
    const std::string cause = cause_text(failure);
    const std::string what = cause.empty() ? std::string(to_string(failure.status)) : fmt::format("{} ({})", to_string(failure.status), cause);
    text += fmt::format("  {}{}: {}\n", failure.title, count_of(failure), what);
  }
  // What did not run has printed nothing.
  const bool has_run = std::any_of(all.begin(), all.end(), [](const Failure& failure) { return failure.status != TrialStatus::unavailable; });
  std::set<std::string> logs;
  for (const Comparison& part : overview.parts)
    if (const fs::path log = fs::path(part.run->directory) / kWorkerLog; has_run && fs::exists(log)) logs.insert(log.string());
  if (!logs.empty()) text += fmt::format("  the output of their processes: {}\n", fmt::join(logs, ", "));
  return text;
}

}  // namespace

std::string table_text(const Table& table, const Style& style) {
  std::vector<TextRow> lines = {table.head};
  for (const TextRow& line : table.lines) {
    lines.emplace_back();
    for (const std::string& cell : line) lines.back().push_back(plain(cell));
  }
  const std::string text = lines_text(lines, table.left, {}, style);
  return style.utf8 ? text : ascii(text);
}

std::string closing_summary(const Overview& overview, const Style& style) {
  std::string text;
  bool is_first = true;
  for (const Finding& finding : findings(overview)) {
    const bool undecided = finding.text.find("undecided") != std::string::npos;
    const Color color = undecided && !finding.is_title ? Color::yellow : is_first || finding.is_title ? Color::bold : Color::none;
    text += fmt::format("{}{}{}\n", finding.is_title && !text.empty() ? "\n" : "", finding.level == 0 ? "" : "    ",
                        colored(style, color, finding.text));
    is_first = finding.is_title;
  }
  const auto any_cell = [&](const auto& holds) {
    return std::any_of(overview.parts.begin(), overview.parts.end(),
                       [&](const Comparison& part) { return std::any_of(part.cells.begin(), part.cells.end(), holds); });
  };
  if (any_cell([](const Cell&) { return true; })) {
    text += fmt::format("\n{}", table(overview, style));
    text += "  medians over repeats; speed-up is the median of the ratios by seed\n";
    if (std::any_of(overview.parts.begin(), overview.parts.end(), [](const Comparison& part) { return part.price_per_device_hour > 0; }))
      text += "  cost: hours of training times devices times the price, up to the target where a row reached it\n";
    if (std::any_of(overview.parts.begin(), overview.parts.end(), [](const Comparison& part) { return part.has_frameworks(); }))
      text += "  speed-up of another framework: over its own fastest row on one device\n";
  }
  if (any_cell([](const Cell& cell) { return cell.many_models && !cell.done.empty(); })) text += "  * mean of separate models, one per rank\n";
  for (const Comparison& part : overview.parts) {
    const std::string title = overview.title_of(part);
    for (const std::string& line : legend_of_marks(part)) text += fmt::format("  ! {}{}\n", title.empty() ? "" : title + ": ", line);
  }
  if (const std::string failed = failure_lines(overview, style); !failed.empty()) text += fmt::format("\n{}", failed);
  return style.utf8 ? text : ascii(text);
}

std::string closing_summary(const Run& run, const Style& style, Objective objective) {
  return closing_summary(overview_of(run, objective), style);
}

}  // namespace mgcompare
