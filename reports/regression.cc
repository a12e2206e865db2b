#include "reports/regression.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/bootstrap.h"
#include "reports/findings.h"
#include "reports/markdown.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

Spread over_before(const Spread& after, const Spread& before) {
  if (after.count == 0 || before.count == 0 || !(before.least > 0)) return {};
  const auto [low, high] = ratio_interval(after.values, before.values);
  return {after.median / before.median, after.least / before.most, after.most / before.least,
          std::min(after.count, before.count), low, high, {}};
}

Change change_of(Order order, const Spread& ratio, bool more_is_better) {
  const bool enough = ratio.count >= kDecisiveRepeats;
  if (enough && ratio.low >= 1 - kNoiseFloor && ratio.high <= 1 + kNoiseFloor) return Change::same;
  if (order == Order::undecided) return Change::undecided;
  return (order == Order::above) == more_is_better ? Change::better : Change::worse;
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
  if (before.info.config_hash == after.info.config_hash && before.info.started == after.info.started && !before.info.started.empty())
    warnings.push_back("Both are the same run, so nothing differs");
  if (before.info.config_hash != after.info.config_hash)
    warnings.push_back("The runs have different configs: rows with the same name may be different");
}

const char* word(Change change) {
  constexpr const char* kWords[] = {"better", "worse", "same", "undecided"};
  return kWords[static_cast<int>(change)];
}

}  // namespace

Regression compare_runs(const Comparison& before, const Comparison& after) {
  Regression regression;
  std::map<std::string, const Cell*> known;
  for (const Cell& cell : before.cells)
    if (!cell.done.empty()) known[cell.name] = &cell;
  std::vector<std::pair<const Spread*, const Spread*>> speeds, times;
  for (const Cell& cell : after.cells) {
    if (cell.done.empty()) continue;
    const auto found = known.find(cell.name);
    if (found == known.end()) {
      regression.only_after.push_back(title_of(cell));
      continue;
    }
    const Cell& old = *found->second;
    known.erase(found);
    RowChange row{&old, &cell, over_before(cell.samples_per_second, old.samples_per_second)};
    row.time_to_target = over_before(cell.seconds_to_target, old.seconds_to_target);
    regression.rows.push_back(row);
    speeds.emplace_back(&cell.samples_per_second, &old.samples_per_second);
    times.emplace_back(&cell.seconds_to_target, &old.seconds_to_target);
  }
  for (const auto& [name, cell] : known) regression.only_before.push_back(title_of(*cell));
  const std::vector<Order> by_speed = compare_all(speeds), by_time = compare_all(times);
  for (std::size_t i = 0; i < regression.rows.size(); ++i) {
    RowChange& row = regression.rows[i];
    row.change = change_of(by_speed[i], row.speed, true);
    row.target_change = change_of(by_time[i], row.time_to_target, false);
  }
  warn_of_differences(*before.run, *after.run, regression.warnings);
  return regression;
}

bool has_regressed(const Regression& regression, double tolerance) {
  return std::any_of(regression.rows.begin(), regression.rows.end(), [&](const RowChange& row) {
    return (row.change == Change::worse && row.speed.median < 1 - tolerance) ||
           (row.target_change == Change::worse && row.time_to_target.median > 1 + tolerance);
  });
}

Table regression_table(const Regression& regression) {
  Table table{"Row by row",
              "Samples/s and time to the target, and the ratios second run / first run, with 95 % intervals (for one run with up to five "
              "repeats: their range). Same: the whole interval of the ratio is within 2 % of 1.",
              {"row", "samples/s before", "after", "ratio", "verdict", "time to target before", "after", "ratio", "verdict"},
              1,
              {}, {}};
  for (const RowChange& row : regression.rows) {
    const bool timed = row.time_to_target.count > 0;
    table.lines.push_back({title_of(*row.after), with_range(row.before->samples_per_second, rate_text),
                           with_range(row.after->samples_per_second, rate_text), with_range(row.speed), word(row.change),
                           with_range(row.before->seconds_to_target, seconds_text),
                           with_range(row.after->seconds_to_target, seconds_text), with_range(row.time_to_target),
                           timed ? word(row.target_change) : "-"});
  }
  return table;
}

std::string regression_report(const Regression& regression, const std::string& before, const std::string& after) {
  std::map<Change, std::size_t> counts;
  for (const RowChange& row : regression.rows) ++counts[row.change];
  std::string text = fmt::format("# {} against {}\n\n{} rows by samples/s: {} better, {} worse, {} same, {} undecided.\n",
                                 markdown(after), markdown(before), regression.rows.size(), counts[Change::better],
                                 counts[Change::worse], counts[Change::same], counts[Change::undecided]);
  for (const std::string& warning : regression.warnings) text += fmt::format("\n{}.\n", markdown(warning));
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
