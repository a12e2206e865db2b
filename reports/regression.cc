#include "reports/regression.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "config/problem.h"
#include "reports/counterparts.h"
#include "reports/findings.h"
#include "reports/framework.h"
#include "reports/markdown.h"
#include "reports/text.h"
#include "results/continuation.h"

namespace mgcompare {
namespace {

Change change_of(Order order, const Spread& ratio, bool more_is_better) {
  const bool enough = ratio.count >= kDecisiveRepeats;
  if (enough && ratio.low >= 1 - kNoiseFloor && ratio.high <= 1 + kNoiseFloor) return Change::same;
  if (order == Order::undecided || includes_one(ratio)) return Change::undecided;
  return (order == Order::above) == more_is_better ? Change::better : Change::worse;
}

bool is_same_run(const Run& one, const Run& other) {
  return one.info.config_hash == other.info.config_hash && one.info.started == other.info.started && !one.info.started.empty() &&
         one.rows.size() == other.rows.size() && one.info.taints == other.info.taints;
}

std::set<int> damaged_trials(const Run& run) {
  std::set<int> numbers;
  for (const Row& row : run.rows)
    if (is_damaged(row)) numbers.insert(row.trial.number);
  return numbers;
}

// Facts that must be equal, so that a difference is due to the program; and whether these are two different runs.
void warn_of_differences(const Run& before, const Run& after, std::vector<std::string>& warnings) {
  const auto facts = [](const Run& run) {
    std::map<std::string, std::string> all(run.info.environment.begin(), run.info.environment.end());
    all["data"] = run.info.data_fingerprint;
    return all;
  };
  std::map<std::string, std::string> one = facts(before), other = facts(after);
  for (const char* key : {"cpu", "cpu cores", "cuda:0", "cuda devices", "data"}) {
    if (one[key] != other[key])
      warnings.push_back(fmt::format("The runs differ in {}: {} and {}", key, one[key].empty() ? "nothing" : plain(one[key]),
                                     other[key].empty() ? "nothing" : plain(other[key])));
  }
  std::map<std::string, std::string> variables = variables_of(before.info), later = variables_of(after.info);
  std::set<std::string> names;
  for (const auto* all : {&variables, &later})
    for (const auto& [name, value] : *all) names.insert(name);
  for (const std::string& name : names)
    if (variables[name] != later[name])
      warnings.push_back(fmt::format("The runs differ in the environment variable {}: {} and {}", plain(name),
                                     variables[name].empty() ? "not set" : plain(variables[name]), later[name].empty() ? "not set" : plain(later[name])));
  for (const Run* run : {&before, &after})
    for (const std::string& taint : run->info.taints)
      warnings.push_back(fmt::format("The {} run is TAINTED: {}", run == &before ? "first" : "second", plain(taint)));
  for (const std::string& framework : differing_frameworks(before, after))
    warnings.push_back(fmt::format("The runs were trained with different versions of {}", framework));
  const std::set<int> damaged = damaged_trials(before), damaged_later = damaged_trials(after);
  if (is_same_run(before, after) && damaged == damaged_later) warnings.push_back("Both are the same run, so nothing differs");
  if (before.info.config_hash != after.info.config_hash)
    warnings.push_back("The runs have different configs: rows with the same name may be different");
  if (const auto keys = differing_settings(before.info, after.info.config_json); !keys.empty())
    warnings.push_back(fmt::format("The configs differ in {}", listed(keys, 8)));
  for (const auto& [which, trials] : {std::pair("first", &damaged), std::pair("second", &damaged_later)}) {
    if (trials->empty()) continue;
    warnings.push_back(fmt::format("The {} run lacks {}; `mgcompare report` marks damaged rows", which,
                                   trials->size() == 1 ? "1 trial whose row is damaged" : fmt::format("{} trials whose rows are damaged", trials->size())));
  }
}

void warn_of_gaps(const Cell& cell, const char* run, std::vector<std::string>& warnings) {
  const std::size_t without = cell.failed.size() + cell.missing;
  if (without > 0)
    warnings.push_back(fmt::format("{}: {} of {} repeats have no result in the {} run", title_of(cell), without, without + cell.done.size(), run));
}

// The changes of one figure over all rows, by the tests that are corrected for their number.
class Changes {
 public:
  Changes(FigureChange RowChange::*figure, bool more_is_better) : figure_(figure), more_is_better_(more_is_better) {}
  // The spreads outlive this.
  void add(const Spread& before, const Spread& after, const FigureChange& change) {
    absolute_.emplace_back(&after, &before);
    own_.emplace_back(&change.own_after, &change.own_before);
  }
  void decide(std::vector<RowChange>& rows) const {
    const std::vector<Order> absolute = compare_all(absolute_), own = compare_all(own_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      FigureChange& change = rows[i].*figure_;
      change.absolute = change_of(absolute[i], change.ratio, more_is_better_);
      change.own = change_of(own[i], change.own_ratio, true);
    }
  }

 private:
  FigureChange RowChange::*figure_;
  bool more_is_better_;
  std::vector<std::pair<const Spread*, const Spread*>> absolute_, own_;
};

FigureChange figure_change(const Spread& before, const Spread& after, Spread own_before, Spread own_after) {
  FigureChange change;
  change.ratio = ratio(after, before);
  change.own_ratio = ratio(own_after, own_before);
  change.own_before = std::move(own_before);
  change.own_after = std::move(own_after);
  return change;
}

// A change of the machine is told by the program's own baseline, also for rows of other frameworks.
Spread times_as_fast(const Comparison& comparison, const Cell& cell) {
  return cell.own_baseline ? ratio(comparison.cells[*cell.own_baseline].done, cell.done, time_to_target) : Spread{};
}

Spread speed_up(const Comparison& comparison, const Cell& cell) {
  return cell.own_baseline ? ratio(cell.done, comparison.cells[*cell.own_baseline].done, throughput) : Spread{};
}

bool is_own_baseline(const Comparison& comparison, const Cell& cell) {
  return cell.own_baseline && &comparison.cells[*cell.own_baseline] == &cell;
}

RowChange change_of_row(const Comparison& before, const Comparison& after, const Cell& old, const Cell& cell) {
  if (old.framework != cell.framework)
    return {&old, &cell, figure_change(old.samples_per_second, cell.samples_per_second, old.speed_up, cell.speed_up),
            figure_change(old.seconds_to_target, cell.seconds_to_target, {}, {})};
  return {&old, &cell, figure_change(old.samples_per_second, cell.samples_per_second, speed_up(before, old), speed_up(after, cell)),
          figure_change(old.seconds_to_target, cell.seconds_to_target, times_as_fast(before, old), times_as_fast(after, cell))};
}

using Known = std::map<std::string, const Cell*>;

// The cell of the other run with the same row. An experiment with one network does not name it in its rows.
Known::iterator find_same(Known& known, const Cell& cell) {
  const auto found = known.find(cell.name);
  const std::string network = cell.trial().network, before = network + ": ";
  if (found != known.end()) return found;
  if (network.empty()) return known.find(fmt::format("{}: {}", cell.first->config->model.name, cell.name));
  const auto plain_row = known.find(cell.name.substr(before.size()));
  return plain_row != known.end() && plain_row->second->first->config->model.name == network ? plain_row : known.end();
}

// Which figures decide, and the verdicts.
void decide(const Comparison& before, const Comparison& after, std::vector<RowChange>& rows, std::vector<std::string>& warnings) {
  // Baselines by their cell of the second run. One of which it is not known that it is the same may be as different as its
  // interval says, and so may all other rows.
  std::map<const Cell*, const RowChange*> changed;
  for (const RowChange& row : rows)
    if (!row.has_frameworks() && is_own_baseline(after, *row.after) && row.speed.absolute != Change::same && !is_same_run(*before.run, *after.run))
      changed[row.after] = &row;
  for (RowChange& row : rows) {
    const bool has_own = !row.has_frameworks() && row.before->own_baseline && row.after->own_baseline;
    row.by_baseline = has_own && changed.contains(&after.cells[*row.after->own_baseline]);
    row.change = row.by_baseline ? row.speed.own : row.speed.absolute;
    row.target_change = row.by_baseline ? row.time.own : row.time.absolute;
    if (row.by_baseline && is_own_baseline(after, *row.after)) row.change = row.target_change = Change::reference;
    if (row.before->is_disqualified() || row.after->is_disqualified()) row.change = row.target_change = Change::marked;
  }
  for (const auto& [cell, row] : changed) {
    const bool is_undecided = row->speed.absolute == Change::undecided;
    warnings.push_back(fmt::format("{}: {} has {} times the samples/s in the second run, so the machine or the whole program {} changed; "
                                   "rows are judged by their ratio to each run's own baseline",
                                   is_undecided ? "Whether the baseline itself differs is undecided" : "The baseline itself differs",
                                   title_of(*cell), with_range(row->speed.ratio), is_undecided ? "may have" : "has"));
  }
  std::vector<std::string> alone;
  bool is_short = false;
  for (const RowChange& row : rows) {
    if (row.has_frameworks() || row.before->own_baseline.has_value() == row.after->own_baseline.has_value()) continue;
    alone.push_back(title_of(*row.after));
    is_short |= row.before->short_baseline || row.after->short_baseline;
  }
  if (!alone.empty())
    warnings.push_back(fmt::format("Only one of the runs has the baseline of {}{}{}: absolute figures decide, and a difference may be due to "
                                   "the machine",
                                   alone.front(), alone.size() == 1 ? "" : fmt::format(" and {} more rows", alone.size() - 1),
                                   is_short ? "; in the other it was too short to measure" : ""));
  for (const RowChange& row : rows) {
    for (const Cell* cell : {row.before, row.after})
      if (cell->is_disqualified())
        warnings.push_back(fmt::format("{} is marked in the {} run: {}", title_of(*cell), cell == row.before ? "first" : "second",
                                       marks_text(cell->marks)));
  }
}

// Rows that only one run has: those with a counterpart in another framework, and the others.
void add_counterparts(const Comparison& before, const Comparison& after, const Known& known, const std::vector<const Cell*>& alone,
                      const std::set<const Cell*>& lost, Regression& regression) {
  std::vector<const Cell*> first;
  // In the order of the comparison.
  for (const Cell& cell : before.cells)
    if (const auto found = known.find(cell.name); found != known.end() && found->second == &cell && !lost.contains(&cell)) first.push_back(&cell);
  const Counterparts found = counterparts(first, alone);
  std::set<const Cell*> paired;
  std::set<std::string> frameworks;
  for (const auto& [one, other] : found.pairs) {
    regression.rows.push_back(change_of_row(before, after, *one, *other));
    paired.insert({one, other});
    frameworks.insert(fmt::format("{} with {}", framework_title(*one->done.front()), framework_title(*other->done.front())));
  }
  if (!frameworks.empty())
    regression.warnings.push_back(fmt::format("Rows that compute in the same way compare {}: absolute figures decide, and a difference may also be due to the "
                                              "machine", fmt::join(frameworks, ", ")));
  regression.warnings.insert(regression.warnings.end(), found.reasons.begin(), found.reasons.end());
  for (const auto& [name, cell] : known)
    if (!paired.contains(cell)) regression.only_before.push_back(title_of(*cell));
  for (const Cell* cell : alone)
    if (!paired.contains(cell)) regression.only_after.push_back(title_of(*cell));
}

}  // namespace

Regression compare_runs(const Comparison& before, const Comparison& after) {
  Regression regression;
  Known known;
  std::vector<const Cell*> alone;   // of the second run
  std::set<const Cell*> lost;       // of the first run
  for (const Cell& cell : before.cells)
    if (!cell.done.empty()) known[cell.name] = &cell;
  for (const Cell& cell : after.cells) {
    const auto found = find_same(known, cell);
    if (cell.done.empty()) {
      if (found == known.end()) continue;
      regression.lost.push_back(title_of(*found->second));
      lost.insert(found->second);
      continue;
    }
    if (found == known.end()) {
      alone.push_back(&cell);
      continue;
    }
    const Cell& old = *found->second;
    known.erase(found);
    regression.rows.push_back(change_of_row(before, after, old, cell));
  }
  add_counterparts(before, after, known, alone, lost, regression);
  Changes speeds(&RowChange::speed, true), times(&RowChange::time, false);
  for (const RowChange& row : regression.rows) {
    speeds.add(row.before->samples_per_second, row.after->samples_per_second, row.speed);
    times.add(row.before->seconds_to_target, row.after->seconds_to_target, row.time);
  }
  speeds.decide(regression.rows);
  times.decide(regression.rows);
  decide(before, after, regression.rows, regression.warnings);
  for (const std::string& title : regression.lost)
    regression.warnings.push_back(fmt::format("{} has a result in the first run, and none in the second: `mgcompare report` says why", title));
  for (const RowChange& row : regression.rows) {
    warn_of_gaps(*row.before, "first", regression.warnings);
    warn_of_gaps(*row.after, "second", regression.warnings);
  }
  warn_of_differences(*before.run, *after.run, regression.warnings);
  return regression;
}

std::string_view to_string(Change change) {
  constexpr std::string_view kWords[] = {"better", "worse", "same", "undecided", "baseline", "marked"};
  return kWords[static_cast<int>(change)];
}

bool has_regressed(const Regression& regression, double tolerance) {
  return !regression.lost.empty() || std::any_of(regression.rows.begin(), regression.rows.end(), [&](const RowChange& row) {
    const double speed = (row.by_baseline ? row.speed.own_ratio : row.speed.ratio).median;
    const double slowness = row.by_baseline ? 1 / row.time.own_ratio.median : row.time.ratio.median;
    return (row.change == Change::worse && speed < 1 - tolerance) ||
           (row.target_change == Change::worse && slowness > 1 + tolerance);
  });
}

std::string regression_title(const RowChange& row) {
  return title_of(*row.after) + (row.has_frameworks() ? fmt::format(" (before: {})", plain(row.before->trial().strategy.label)) : "");
}

Table regression_table(const Regression& regression) {
  const bool by_baseline = std::any_of(regression.rows.begin(), regression.rows.end(), [](const RowChange& row) { return row.by_baseline; });
  Table table{"Row by row",
              "Samples/s and time to the target, and the ratios second run / first run, with 95 % intervals (for one run with up to five "
              "repeats: their range). Same: the whole interval of the ratio is within 2 % of 1.",
              {"row", "samples/s before", "after", "ratio"},
              1,
              {}, {}};
  const auto add_head = [&](const char* own) {
    if (by_baseline) table.head.insert(table.head.end(), {fmt::format("{} before", own), "after", "ratio"});
    table.head.push_back("verdict");
  };
  add_head("speed-up");
  table.head.insert(table.head.end(), {"time to target before", "after", "ratio"});
  add_head("times as fast");
  if (by_baseline)
    table.intro += " It is not known that the baseline is the same in both runs, so the ratios of the speed-up and of the times as fast as each run's own "
                   "baseline decide; the absolute figures stand beside them.";
  for (const RowChange& row : regression.rows) {
    TextRow line = {regression_title(row), with_range(row.before->samples_per_second, rate_text),
                    with_range(row.after->samples_per_second, rate_text), with_range(row.speed.ratio)};
    const auto add_verdict = [&](const FigureChange& figure, Change change) {
      if (by_baseline)
        line.insert(line.end(), {with_range(figure.own_before), with_range(figure.own_after), with_range(figure.own_ratio)});
      line.push_back(figure.ratio.count > 0 ? std::string(to_string(change)) : "-");
    };
    add_verdict(row.speed, row.change);
    line.insert(line.end(), {with_range(row.before->seconds_to_target, seconds_text), with_range(row.after->seconds_to_target, seconds_text),
                             with_range(row.time.ratio)});
    add_verdict(row.time, row.target_change);
    table.lines.push_back(std::move(line));
  }
  return table;
}

std::string regression_report(const Regression& regression, const std::string& before, const std::string& after) {
  std::map<Change, std::size_t> counts;
  for (const RowChange& row : regression.rows) ++counts[row.change];
  std::string text = fmt::format("# {} against {}\n\n{} rows by {}: {} better, {} worse, {} same, {} undecided", markdown(after),
                                 markdown(before), regression.rows.size(), counts[Change::reference] > 0 ? "speed-up" : "samples/s",
                                 counts[Change::better], counts[Change::worse], counts[Change::same], counts[Change::undecided]);
  for (const auto& [change, what] : {std::pair(Change::reference, "baseline"), std::pair(Change::marked, "marked")})
    if (counts[change] > 0) text += fmt::format(", {} {}", counts[change], what);
  text += ".\n";
  for (const std::string& warning : regression.warnings) text += fmt::format("\n{}.\n", markdown_sentence(warning));
  text += markdown_section(regression_table(regression));
  const auto list = [&](const char* title, const std::vector<std::string>& titles) {
    if (titles.empty()) return;
    text += fmt::format("\n## {}\n\n", title);
    for (const std::string& one : titles) text += fmt::format("- {}\n", markdown(one));
  };
  list("Only in the first run", regression.only_before);
  list("Only in the second run", regression.only_after);
  return text;
}

}  // namespace mgcompare
