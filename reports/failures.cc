#include "reports/failures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/findings.h"
#include "reports/text.h"
#include "results/live_position.h"

namespace mgcompare {
namespace {

// Unavailable devices fail in the same way in many rows: one line for all. Other failures get one line per row.
void add(const Cell& cell, const std::vector<const Row*>& rows, bool extra, std::vector<Failure>& all) {
  const std::string title = title_of(cell);
  for (const Row* row : rows) {
    const TrialStatus status = row->result.status;
    const std::string cause = plain(row->result.cause);
    auto same = std::find_if(all.begin(), all.end(), [&](const Failure& failure) {
      const bool is_for_all = status == TrialStatus::unavailable;
      return (is_for_all || (failure.title == title && failure.extra == extra)) && failure.status == status && failure.cause == cause;
    });
    if (same == all.end()) same = all.insert(all.end(), {title, status, cause, 0, 0, extra, row});
    same->more_rows += same->trials > 0 && row == rows.front() && !extra ? 1 : 0;
    ++same->trials;
    if (row->sequence > same->last->sequence) same->last = row;
  }
}

}  // namespace

std::vector<Failure> failures(const Comparison& comparison) {
  std::vector<Failure> all;
  for (const Cell& cell : comparison.cells) {
    add(cell, cell.failed, false, all);
    add(cell, cell.failed_extras, true, all);
  }
  for (const std::vector<const Row*>* const extras : {&comparison.failed_references, &comparison.failed_rehearsals})
    for (const Row* row : *extras) {
      if (is_refused_rehearsal(*row)) continue;
      Cell cell;
      cell.first = row;
      add(cell, {row}, true, all);
    }
  for (Failure& failure : all)
    if (failure.more_rows > 0)
      failure.title += fmt::format(" and {} more row{}", failure.more_rows, failure.more_rows == 1 ? "" : "s");
  std::stable_sort(all.begin(), all.end(), [](const Failure& a, const Failure& b) {
    const auto key = [](const Failure& failure) {
      return std::pair(failure.status != TrialStatus::unavailable, failure.last->sequence);
    };
    return key(a) < key(b);
  });
  return all;
}

std::string cause_text(const Failure& failure) {
  std::vector<std::string> parts;
  if (!failure.cause.empty()) parts.push_back(failure.cause);
  if (failure.status == TrialStatus::failed)
    for (const std::string& note : failure.last->result.notes)
      if (note.starts_with(kFailedAt)) parts.push_back(plain(note));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string count_of(const Failure& failure) {
  if (failure.more_rows > 0) return fmt::format(" ({} trials)", failure.trials);
  if (failure.extra) return fmt::format(" ({} extra run{})", failure.trials, failure.trials == 1 ? "" : "s");
  return failure.trials > 1 ? fmt::format(" ({} repeats)", failure.trials) : "";
}

Table failure_table(const Comparison& comparison) {
  Table table{"Trials that were not completed", "", {"row", "status", "cause", "trials"}, 3, {}, {}};
  for (const Failure& failure : failures(comparison))
    table.lines.push_back({failure.title + (failure.extra ? count_of(failure) : ""), std::string(to_string(failure.status)),
                           cause_text(failure), fmt::format("{}", failure.trials)});
  return table;
}

std::vector<std::pair<std::string, std::string>> failure_logs(const Comparison& comparison) {
  std::vector<std::pair<std::string, std::string>> logs;
  for (const Failure& failure : failures(comparison)) {
    if (failure.last->result.log.empty()) continue;
    std::string log;
    for (const std::string& line : failure.last->result.log) log += plain(line) + "\n";
    logs.emplace_back(fmt::format("The last lines of {} (trial {})", failure.title, failure.last->trial.number), log);
  }
  return logs;
}

}  // namespace mgcompare
