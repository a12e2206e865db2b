#include "reports/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "reports/drift.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

std::string factor_text(double factor) { return fmt::format("{:.2f}", factor); }

struct Rival {
  const Cell* cell;
  Spread factor;  // how many times better the winner is
  Order order;
  bool enough_repeats;
};

// "1.92 [1.78 .. 2.05] times as fast as X", with the doubt there is.
std::string against(const Comparison& comparison, const Rival& rival) {
  const std::string_view how = comparison.objective == Objective::device_seconds ? "cheap" : "fast";
  const std::string text = fmt::format("{} times as {} as {}", with_range(rival.factor), how, title_of(*rival.cell));
  if (!rival.enough_repeats) return text + "; undecided: fewer than three repeats";
  if (rival.order == Order::undecided) return text + "; undecided: their repeats overlap or differ by less than 2 %";
  return text;
}

Rival measure_rival(const Comparison& comparison, const Cell& winner, const Cell& other) {
  const Criterion by = criterion(comparison);
  const Spread &mine = winner.*by.of_cell, &its = other.*by.of_cell;
  return {&other,
          by.more_is_better ? ratio(winner.done, other.done, by.of_row) : ratio(other.done, winner.done, by.of_row),
          compare(mine, its), mine.count >= kDecisiveRepeats && its.count >= kDecisiveRepeats};
}

bool goes_by_target(const Comparison& comparison) {
  return comparison.target_reached && comparison.objective != Objective::throughput;
}

std::string rival_text(const Comparison& comparison, const Rival& rival) {
  if (goes_by_target(comparison) && rival.cell->reached_target == 0) {
    return fmt::format("{} did not reach {}", title_of(*rival.cell), target_text(comparison.target_accuracy));
  }
  return against(comparison, rival);
}

std::string cost_text(double seconds) { return fmt::format("{} device-seconds", seconds < 100 ? fmt::format("{:.3g}", seconds) : count_text(seconds)); }

void add_headline(const Comparison& comparison, const Cell& winner, std::vector<Finding>& all) {
  const std::string target = target_text(comparison.target_accuracy);
  const bool always = winner.reached_target == winner.done.size();
  const std::string repeats =
      always ? "" : fmt::format(", in {} of {} repeats", winner.reached_target, winner.done.size());
  if (comparison.target_accuracy > 0 && !comparison.target_reached) {
    all.push_back({fmt::format("No row reached {}; what follows is speed alone", target)});
  }
  if (comparison.objective == Objective::device_seconds) {
    const Spread& cost = winner.*criterion(comparison).of_cell;
    const std::string until = goes_by_target(comparison) ? "up to " + target + repeats : "for the whole training";
    all.push_back({fmt::format("{} is cheapest: {} {}", title_of(winner), with_range(cost, cost_text), until)});
  } else if (goes_by_target(comparison)) {
    all.push_back({fmt::format("{} reached {} in {}{}", title_of(winner), target,
                               with_range(winner.seconds_to_target, seconds_text), repeats)});
  } else {
    all.push_back({fmt::format("{} trained fastest: {} samples/s, accuracy {}", title_of(winner),
                               with_range(winner.samples_per_second, rate_text), accuracy_of(winner))});
  }
}

void add_baseline(const Comparison& comparison, const Cell& winner, std::vector<Finding>& all) {
  if (winner.is_baseline) {
    if (comparison.ranking.size() > 1) all.push_back({"it is the one-device baseline: no other row's median is better", 1});
    return;
  }
  if (!winner.baseline) {
    all.push_back({"there is no one-device baseline of this kind and batch to compare it with", 1});
    return;
  }
  const Cell& base = comparison.cells[*winner.baseline];
  std::string text = rival_text(comparison, measure_rival(comparison, winner, base));
  if (goes_by_target(comparison) && comparison.objective == Objective::time_to_accuracy)
    text += fmt::format(" (throughput alone: {}x)", factor_text(winner.speed_up.median));
  all.push_back({text, 1});
}

void add_reasons(const Comparison& comparison, const Cell& winner, std::vector<Finding>& all) {
  const std::size_t devices = winner.trial().devices;
  if (devices > 1 && winner.efficiency.count > 0 && winner.efficiency.median < 0.95 && winner.breakdown.reliable()) {
    const Breakdown& parts = winner.breakdown;
    // What ideal scaling would not need, and no other part explains.
    const double rest = 1 - winner.efficiency.median - (parts.exchange + parts.waiting + parts.host) / parts.step;
    all.push_back({fmt::format("Why not {}x: {} of its time is exchange, {} waiting for other ranks, {} outside of steps{}",
                               devices, percent_text(parts.exchange / parts.step), percent_text(parts.waiting / parts.step),
                               percent_text(parts.host / parts.step),
                               rest < 0.01 ? "" : fmt::format(", and {} computing that did not shrink with a device's share of the batch", percent_text(rest)))});
  }
  const Cell* cheapest = nullptr;
  for (const std::size_t index : comparison.ranking) {
    const Cell& other = comparison.cells[index];
    const Rival rival = measure_rival(comparison, winner, other);
    if (!rival.enough_repeats || rival.order != Order::undecided) continue;
    if (other.trial().devices < (cheapest == nullptr ? devices : cheapest->trial().devices)) cheapest = &other;
  }
  if (cheapest != nullptr) all.push_back({fmt::format("Cheapest within noise: {}", title_of(*cheapest))});
}

}  // namespace

std::string devices_text(std::size_t count, DeviceKind kind) {
  return fmt::format("{} {}{}", count, kind == DeviceKind::cpu ? "CPU core" : "GPU", count == 1 ? "" : "s");
}

std::string title_of(const Cell& cell) {
  const TrialKey& trial = cell.trial();
  const bool weak = trial.scaling == "weak";
  std::string title = fmt::format("{} on {}", trial.strategy.label, devices_text(trial.devices, trial.device_kind));
  if (trial.ranks_per_device != 1) title += fmt::format(" with {} ranks each", trial.ranks_per_device);
  title += fmt::format(", batch {}",
                       weak ? trial.global_batch / std::max<std::size_t>(1, trial.devices) : trial.global_batch);
  if (weak) title += " per device";
  if (!trial.variant.empty()) title += fmt::format(", {}", trial.variant);
  return plain(title);
}

std::string with_range(const Spread& spread, std::string (*text)(double)) {
  if (spread.count == 0) return "-";
  if (spread.count == 1) return text(spread.median);
  return fmt::format("{} [{} .. {}]", text(spread.median), text(spread.low), text(spread.high));
}

std::string with_range(const Spread& spread) { return with_range(spread, factor_text); }

std::string accuracy_of(const Cell& cell) {
  const std::string text = with_range(cell.accuracy, accuracy_text);
  return cell.many_models && cell.accuracy.count > 0
             ? fmt::format("{}, mean of {} separate models", text, cell.trial().ranks())
             : text;
}

const Cell* best_on_several(const Comparison& comparison) {
  const Cell* best = nullptr;
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    if (cell.trial().devices < 2 || !cell.baseline || cell.is_ceiling || cell.speed_up.count == 0) continue;
    if (best == nullptr || cell.speed_up.median > best->speed_up.median) best = &cell;
  }
  return best;
}

Answer answer(const Comparison& comparison) {
  const Cell* best = best_on_several(comparison);
  if (best == nullptr && comparison.done == 0) return {};
  if (best == nullptr) {
    return {"Whether several devices pay is not known yet",
            "that takes a finished row on several devices, and the one-device baseline at the same batch"};
  }
  return {best->order == Order::above   ? "Several devices are faster"
          : best->order == Order::below ? "Several devices do not pay"
                                        : "Whether several devices pay is undecided",
          fmt::format("at best {} times the samples/s of {}, by {}", with_range(best->speed_up),
                      title_of(comparison.cells[*best->baseline]), title_of(*best))};
}

std::vector<Finding> ranking_findings(const Comparison& comparison) {
  std::vector<Finding> all;
  if (comparison.ranking.empty()) {
    all.push_back({comparison.done == 0 ? "No trial was completed: there is nothing to compare"
                                        : "No strategy that trains one model was completed"});
    return all;
  }
  const Cell& winner = comparison.cells[comparison.ranking.front()];
  add_headline(comparison, winner, all);
  add_baseline(comparison, winner, all);
  const auto second = std::find_if(comparison.ranking.begin() + 1, comparison.ranking.end(),
                                   [&](std::size_t index) { return winner.baseline != index; });
  if (second != comparison.ranking.end()) {
    all.push_back({rival_text(comparison, measure_rival(comparison, winner, comparison.cells[*second])), 1});
  }
  add_reasons(comparison, winner, all);
  return all;
}

std::vector<Finding> reservations(const Comparison& comparison) {
  std::vector<Finding> all;
  std::set<std::string> many;
  for (const Cell& cell : comparison.cells) {
    if (cell.done.empty() || !cell.many_models || !many.insert(cell.trial().strategy.label).second) continue;
    all.push_back({fmt::format("{} trains separate models, one a rank: its accuracy is their mean, its speed a ceiling",
                               plain(cell.trial().strategy.label))});
  }
  if (const std::vector<Drift> found = drifts(comparison); !found.empty()) {
    const Drift& worst = largest(found);
    all.push_back({fmt::format("The machine was not steady: {} changed by {:+.1f} % between two of its runs; differences of "
                               "that size may be the machine's",
                               plain(row_name(worst.before->trial)), worst.change * 100)});
  }
  const RunInfo& info = comparison.run->info;
  if (info.data_name == "digits")
    all.push_back({"The data are built-in drawn digits, not MNIST: accuracies do not compare with published ones"});
  if (!comparison.run->rows.empty() && comparison.run->rows.front().config->cut_down_for_cpu) {
    all.push_back({"The experiment was cut down for a machine without a GPU, as its `when_cpu:` block says"});
  }
  if (comparison.finished < comparison.trials) {
    all.push_back({fmt::format("{} of {} trials have not finished: --resume runs them",
                               comparison.trials - comparison.finished, comparison.trials)});
  }
  return all;
}

std::string partial_text(const Comparison& comparison) {
  if (comparison.finished == comparison.trials) return "";
  return fmt::format("Partial: {} of {} trials have not finished. What follows holds for those that have.",
                     comparison.trials - comparison.finished, comparison.trials);
}

std::vector<Finding> findings(const Comparison& comparison) {
  std::vector<Finding> all;
  // Before any figure: it makes all of them doubtful.
  for (const std::string& taint : comparison.run->info.taints) all.push_back({fmt::format("TAINTED: {}", plain(taint))});
  if (const Answer first = answer(comparison); !first.verdict.empty()) all.push_back({first.verdict + ": " + first.grounds});
  for (const auto& part : {ranking_findings(comparison), reservations(comparison)}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<Failure> failures(const Comparison& comparison) {
  std::vector<Failure> all;
  for (const Cell& cell : comparison.cells) {
    for (const Row* row : cell.failed) {
      const std::string status = plain(row->result.status), cause = plain(row->result.cause), title = title_of(cell);
      // What the machine does not have fails alike in many rows; anything else is worth a line a row.
      auto same = std::find_if(all.begin(), all.end(), [&](const Failure& failure) {
        return (failure.title == title || status == "unavailable") && failure.status == status && failure.cause == cause;
      });
      if (same == all.end()) same = all.insert(all.end(), {title, status, cause, 0, 0, row});
      same->more_rows += same->repeats > 0 && row == cell.failed.front() ? 1 : 0;
      ++same->repeats;
      if (row->sequence > same->last->sequence) same->last = row;
    }
  }
  for (Failure& failure : all)
    if (failure.more_rows > 0)
      failure.title += fmt::format(" and {} more row{}", failure.more_rows, failure.more_rows == 1 ? "" : "s");
  std::stable_sort(all.begin(), all.end(), [](const Failure& a, const Failure& b) {
    const auto key = [](const Failure& failure) {
      return std::pair(failure.status != "unavailable", failure.last->sequence);
    };
    return key(a) < key(b);
  });
  return all;
}

}  // namespace mgcompare
