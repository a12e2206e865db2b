#include "reports/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "plan/listed_batch.h"
#include "reports/bootstrap.h"
#include "reports/cost.h"
#include "reports/framework.h"
#include "reports/row_order.h"
#include "reports/steadiness.h"
#include "reports/text.h"

namespace mgcompare {
bool is_refused_rehearsal(const Row& row) {
  return row.trial.rehearsal && row.state == RowState::finished && row.result.status == TrialStatus::unavailable;
}

namespace {

template <class F>
Spread over(const std::vector<const Row*>& rows, const F& figure) {
  std::vector<double> values;
  for (const Row* row : rows) values.push_back(figure(*row));
  return spread_of(std::move(values));
}

void measure(Cell& cell) {
  cell.accuracy = over(cell.done, [](const Row& row) { return row.result.accuracy; });
  cell.samples_per_second = over(cell.done, throughput);
  cell.seconds_training = over(cell.done, [](const Row& row) { return row.result.seconds_training; });
  cell.seconds_total = over(cell.done, [](const Row& row) { return total_seconds(row.result); });
  cell.train_accuracy = over(cell.done, [](const Row& row) {
    return row.result.epochs.empty() ? std::numeric_limits<double>::quiet_NaN() : row.result.epochs.back().train_accuracy;
  });
  cell.seconds_per_epoch = over(cell.done, [](const Row& row) {
    const std::size_t epochs = row.result.epochs.size();
    return epochs == 0 ? std::numeric_limits<double>::quiet_NaN()
                       : row.result.seconds_training / static_cast<double>(epochs);
  });
  cell.bytes_per_step = over(cell.done, [](const Row& row) { return row.result.bytes_per_step; });
  cell.step_seconds = over(cell.done, [](const Row& row) { return row.result.step_seconds_median; });
  cell.updates = over(cell.done, [](const Row& row) { return static_cast<double>(row.result.updates); });
  cell.seconds_to_target = over(cell.done, time_to_target);
  cell.device_seconds = over(cell.done, device_seconds);
  cell.device_seconds_to_target = over(cell.done, device_seconds_to_target);
  cell.reached_target = cell.seconds_to_target.count;
  cell.breakdown = breakdown_of(cell.done);
  std::vector<double> spreads, drifts;
  for (const Row* row : cell.done) {
    const std::optional<Steadiness> steadiness = steadiness_of(row->result);
    if (!steadiness) continue;
    spreads.push_back(steadiness->spread);
    drifts.push_back(steadiness->drift);
  }
  cell.window_spread = spread_of(std::move(spreads));
  cell.window_drift = spread_of(std::move(drifts));
}

// Marks of all repeats, each kind once. A row is too short if most of its repeats are. The clock of a backend is wrong if it is in half of
// them, because on a busy machine one message may be late by any time; likewise where the ranks lacked processors.
void mark(Cell& cell, const PromiseChecks& promises) {
  std::map<MarkKind, std::size_t> repeats;
  bool some_kept = false;
  for (const Row* row : cell.done) {
    const PromiseCheck check = promises.of(*row);
    some_kept |= check.state == PromiseState::kept;
    if (check.state == PromiseState::broken && (cell.promise.state != PromiseState::broken || check.epoch < cell.promise.epoch))
      cell.promise = check;
    else if (check.state == PromiseState::unchecked && (cell.promise.state == PromiseState::none ||
                                                        (check.is_doubtful && cell.promise.state != PromiseState::broken)))
      cell.promise = check;
    for (const Mark& mark : marks_of(*row, check)) {
      ++repeats[mark.kind];
      if (mark.kind == MarkKind::broken_promise && check.epoch == cell.promise.epoch)
        std::erase_if(cell.marks, [](const Mark& other) { return other.kind == MarkKind::broken_promise; });
      if (!cell.is_marked(mark.kind)) cell.marks.push_back(mark);
    }
  }
  // A reference has one seed only: then the other repeats cannot be compared.
  if (some_kept && cell.promise.state != PromiseState::broken && !cell.promise.is_doubtful) {
    cell.promise = {PromiseState::kept};
    std::erase_if(cell.marks, [](const Mark& mark) { return mark.kind == MarkKind::unchecked_promise; });
  }
  std::erase_if(cell.marks, [&](const Mark& mark) {
    const std::size_t twice = 2 * repeats[mark.kind];
    if (mark.kind == MarkKind::too_short) return twice <= cell.done.size();
    return (mark.kind == MarkKind::other_clock || mark.kind == MarkKind::lost_processors) && twice < cell.done.size();
  });
  std::sort(cell.marks.begin(), cell.marks.end(), [](const Mark& a, const Mark& b) { return a.kind < b.kind; });
}

// The line of a chart on which a row is.
std::string series_of(const TrialKey& trial) {
  std::string series = trial.strategy.label;
  if (!trial.variant.empty()) series += ", " + trial.variant;
  if (!trial.ids.empty()) series += fmt::format(", on {}", fmt::join(trial.ids, "+"));
  return plain(series);
}

// A one-device row with which this one can be compared: by its trial only.
bool is_one_device_of(const Cell& base, const Cell& cell) {
  const TrialKey &one = base.trial(), &trial = cell.trial();
  return !base.done.empty() && one.devices == 1 && one.ranks_per_device == 1 &&
         one.device_kind == trial.device_kind && one.global_batch == listed_batch(trial) && one.network == trial.network && one.variant == trial.variant;
}

// Of the program's own rows the first baseline, of those of another framework the fastest. `is_short`: one that is too short to measure.
std::optional<std::size_t> find_baseline(const std::vector<Cell>& cells, const Cell& cell, const std::string& framework, bool is_short) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& other = cells[i];
    if (other.framework != framework || !is_one_device_of(other, cell) || other.is_marked(MarkKind::too_short) != is_short) continue;
    if (other.is_own) {
      if (other.is_baseline) return i;
      continue;
    }
    if (!is_short && other.is_disqualified()) continue;
    if (!found || other.samples_per_second.median > cells[*found].samples_per_second.median) found = i;
  }
  return found;
}

void set_against_baseline(std::vector<Cell>& cells) {
  for (Cell& cell : cells) {
    if (cell.done.empty() || cell.trial().ranks_per_device != 1) continue;
    const std::optional<std::size_t> base = find_baseline(cells, cell, cell.framework, false);
    if (!base) {
      cell.short_baseline = find_baseline(cells, cell, cell.framework, true);
      if (cell.is_own) continue;
    }
    if (cell.is_marked(MarkKind::too_short)) continue;
    cell.own_baseline = find_baseline(cells, cell, kOwnFramework, false);
    if (!base) continue;
    cell.baseline = base;
    cell.speed_up = ratio(cell.done, cells[*base].done, throughput);
    cell.efficiency = scaled(cell.speed_up, 1 / static_cast<double>(std::max<std::size_t>(1, cell.trial().devices)));
  }
}

void decide_against_baseline(std::vector<Cell>& cells) {
  std::vector<Cell*> compared;
  std::vector<RowPair> pairs;
  for (Cell& cell : cells) {
    if (!cell.baseline || &cells[*cell.baseline] == &cell) continue;
    compared.push_back(&cell);
    pairs.push_back({&cell, &cells[*cell.baseline], &cell.speed_up});
  }
  std::vector<RowOrder> orders = order_rows(cells, pairs, throughput_figure());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    compared[i]->order = orders[i].order;
    compared[i]->doubt = std::move(orders[i].doubt);
    compared[i]->is_doubted_by_copies = orders[i].is_by_machine;
  }
}

void rank_cells(Comparison& comparison) {
  const std::vector<Cell>& cells = comparison.cells;
  comparison.ranking.clear();
  comparison.target_reached = false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    if (cell.done.empty() || cell.many_models || cell.is_ceiling || cell.copies_baseline || cell.is_disqualified()) continue;
    comparison.ranking.push_back(i);
    comparison.target_reached |= cells[i].reached_target > 0;
  }
  const Criterion by = criterion(comparison);
  const bool to_target = comparison.target_reached && !by.more_is_better;
  std::stable_sort(comparison.ranking.begin(), comparison.ranking.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](const Cell& cell) {
      // A row that missed the target in some repeats ranks behind all rows that always reached it.
      const double missed =
          to_target ? static_cast<double>(cell.done.size() - cell.reached_target) / static_cast<double>(cell.done.size())
                    : 0;
      const Spread& figure = cell.*by.of_cell;
      return std::tuple(missed, by.more_is_better ? -figure.median : figure.median, -cell.samples_per_second.median);
    };
    return key(cells[a]) < key(cells[b]);
  });
}

// It is no row of the comparison.
void add_reference(Comparison& comparison, const Row& row) {
  if (row.state != RowState::finished) return;
  comparison.finished += row.result.status == TrialStatus::interrupted ? 0 : 1;
  if (row.result.status == TrialStatus::done) ++comparison.done;
  else comparison.failed_references.push_back(&row);
}

// Nor is this, and no answer needs it. A strategy that cannot be rehearsed has not failed: only predictions say so.
void add_rehearsal(Comparison& comparison, const Row& row) {
  if (is_refused_rehearsal(row)) {
    comparison.failed_rehearsals.push_back(&row);
    return;
  }
  ++comparison.trials;
  const bool is_finished = row.state == RowState::finished && row.result.status != TrialStatus::interrupted;
  comparison.finished += is_finished ? 1 : 0;
  comparison.pending_rehearsals += is_finished ? 0 : 1;
  if (row.state != RowState::finished) return;
  comparison.done += row.result.status == TrialStatus::done ? 1 : 0;
  (row.result.status == TrialStatus::done ? comparison.rehearsals : comparison.failed_rehearsals).push_back(&row);
}

// Position of the strategy in the config; past the end if it is not there (in a variant or an old file).
std::size_t order_of(const Row& row) {
  const std::vector<StrategyConfig>& all = row.config->strategies;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const StrategyConfig& one) { return one.label == row.trial.strategy.label; });
  return static_cast<std::size_t>(found - all.begin());
}

// The names of the networks in the order of their first trial of the plan; one empty name if there is only one. Rows of a run with
// several networks have one of them, also damaged rows that do not know theirs.
class Networks {
 public:
  explicit Networks(const Run& run) {
    std::map<std::string, int> first;
    for (const Row& row : run.rows) {
      if (row.trial.network.empty()) continue;
      const auto [found, is_new] = first.try_emplace(row.trial.network, row.trial.number);
      if (!is_new) found->second = std::min(found->second, row.trial.number);
    }
    for (const auto& [name, number] : first) names.push_back(name);
    std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) { return first[a] < first[b]; });
    if (names.empty()) names.emplace_back();
  }
  const std::string& of(const Row& row) const { return names[order_of(row)]; }
  std::size_t order_of(const Row& row) const {
    for (const std::string& name : {row.trial.network, row.config->model.name})
      if (const auto found = std::find(names.begin(), names.end(), name); found != names.end())
        return static_cast<std::size_t>(found - names.begin());
    return 0;
  }

  std::vector<std::string> names;
};

// `only`: the network to which the comparison is limited; null: none.
Comparison compare(const Run& run, const Networks& networks, const std::string* only, const PromiseChecks& promises,
                   Objective objective) {
  Comparison comparison;
  comparison.run = &run;
  comparison.price_per_device_hour = price_of(run);
  comparison.promises = promises;
  comparison.network = only != nullptr ? *only : "";
  std::map<std::string, std::size_t> index;
  for (const Row& row : run.rows) {
    if (only != nullptr && networks.of(row) != *only) continue;
    if (row.trial.rehearsal) {
      add_rehearsal(comparison, row);
      continue;
    }
    ++comparison.trials;
    if (row.trial.reference) {
      add_reference(comparison, row);
      continue;
    }
    const std::string name = row_name(row.trial);
    const auto [found, is_new] = index.emplace(name, comparison.cells.size());
    if (is_new) {
      comparison.cells.emplace_back();
      comparison.cells.back().name = name;
      if (only == nullptr) comparison.cells.back().network = networks.of(row);
      comparison.cells.back().first = &row;
      comparison.cells.back().series = series_of(row.trial);
    }
    Cell& cell = comparison.cells[found->second];
    comparison.target_accuracy = std::max(comparison.target_accuracy, row.config->target_accuracy);
    if (row.state != RowState::finished) {
      cell.missing += row.trial.is_repeat() ? 1 : 0;
      continue;
    }
    // Interrupted trials run again on --resume, so they count as unfinished.
    comparison.finished += row.result.status == TrialStatus::interrupted ? 0 : 1;
    const bool is_done = row.result.status == TrialStatus::done;
    comparison.done += is_done ? 1 : 0;
    if (row.trial.is_repeat()) (is_done ? cell.done : cell.failed).push_back(&row);
    else if (!is_done) cell.failed_extras.push_back(&row);
    else if (row.trial.bracket > 0) cell.brackets.push_back(&row);
    cell.many_models |= has_trait(row.result, "models", "many") && row.trial.ranks() > 1;
    cell.is_baseline |= is_baseline_row(row);
    cell.is_ceiling |= has_trait(row.result, "role", "ceiling");
    cell.is_exact |= has_trait(row.result, "promise", "exact");
    cell.runs_freely |= has_trait(row.result, "pace", "free");
  }
  const auto place = [&](const Cell& cell) {
    const TrialKey& trial = cell.trial();
    return std::tuple(networks.order_of(*cell.first), order_of(*cell.first), trial.device_kind, trial.hosts, trial.devices, trial.ids, trial.ranks_per_device,
                      trial.global_batch, trial.variant);
  };
  std::stable_sort(comparison.cells.begin(), comparison.cells.end(),
                   [&](const Cell& a, const Cell& b) { return place(a) < place(b); });
  for (Cell& cell : comparison.cells) {
    const Row& row = cell.done.empty() ? *cell.first : *cell.done.front();
    cell.framework = framework_of(row);
    cell.is_own = is_own(row);
    measure(cell);
    mark(cell, comparison.promises);
  }
  set_against_baseline(comparison.cells);
  for (Cell& cell : comparison.cells)
    cell.copies_baseline = cell.is_own && cell.is_exact && cell.baseline && !cell.is_baseline && cell.trial().ranks() == 1;
  decide_against_baseline(comparison.cells);
  return ranked_by(std::move(comparison), objective);
}

}  // namespace

bool Cell::is_unsteady() const { return window_spread.count > 0 && window_spread.median > kSteadySpread; }

bool Comparison::has_frameworks() const {
  std::set<std::string> names;
  for (const Cell& cell : cells)
    if (!cell.done.empty()) names.insert(cell.framework);
  return names.size() > 1;
}

bool Cell::is_drifting() const {
  const Spread& drift = window_drift;
  return drift.count >= kDecisiveRepeats && (drift.low > 0 || drift.high < 0) && std::abs(drift.median) > kSteadyDrift;
}

Spread ratio(const std::vector<const Row*>& one, const std::vector<const Row*>& other, double (*figure)(const Row&)) {
  std::map<std::uint64_t, double> by_seed;
  for (const Row* row : other) by_seed[row->trial.seed] = figure(*row);
  std::vector<double> ratios;
  for (const Row* row : one) {
    const auto found = by_seed.find(row->trial.seed);
    if (found != by_seed.end() && found->second > 0) ratios.push_back(figure(*row) / found->second);
  }
  const Spread paired = spread_of(std::move(ratios));
  if (paired.count > 0) return paired;
  return ratio(over(one, figure), over(other, figure));
}

Spread ratio(const Spread& one, const Spread& other) {
  if (one.count == 0 || other.count == 0 || !(other.least > 0) || !(other.low > 0)) return {};
  // A ratio of rows without a common seed has no values, but an interval.
  const bool has_values = !one.values.empty() && !other.values.empty();
  const auto [low, high] = has_values ? ratio_interval(one.values, other.values) : Interval{one.low / other.high, one.high / other.low};
  return {one.median / other.median, one.least / other.most, one.most / other.least, std::min(one.count, other.count), low, high, {}};
}

Criterion criterion(const Comparison& comparison) {
  const bool to_target = comparison.target_reached;
  if (comparison.objective == Objective::device_seconds) {
    return to_target ? Criterion{&Cell::device_seconds_to_target, device_seconds_to_target, false}
                     : Criterion{&Cell::device_seconds, device_seconds, false};
  }
  if (comparison.objective == Objective::time_to_accuracy && to_target)
    return {&Cell::seconds_to_target, time_to_target, false};
  return {&Cell::samples_per_second, throughput, true};
}

Comparison ranked_by(Comparison comparison, Objective objective) {
  comparison.objective = objective;
  rank_cells(comparison);
  return comparison;
}

Comparison compare_rows(const Run& run, Objective objective) {
  return compare(run, Networks(run), nullptr, PromiseChecks(run), objective);
}

std::vector<Comparison> compare_networks(const Run& run, Objective objective) {
  const Networks networks(run);
  const PromiseChecks promises(run);
  std::vector<Comparison> all;
  for (const std::string& name : networks.names) all.push_back(compare(run, networks, &name, promises, objective));
  return all;
}

}  // namespace mgcompare
