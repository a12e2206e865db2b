#include "reports/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "base/median.h"
#include "reports/accuracy_gap.h"
#include "reports/answer.h"
#include "reports/charts/series.h"
#include "reports/drift.h"
#include "reports/exchange.h"
#include "reports/findings.h"
#include "reports/oversubscription.h"
#include "reports/straggler.h"
#include "reports/text.h"
#include "reports/work.h"

namespace mgcompare {
namespace {

constexpr double kMuchExchange = 0.20, kMuchInput = 0.20, kMuchWaiting = 0.20, kLostByLearning = 1.10, kLittleWork = 10;
constexpr double kSameUpdates = 0.05;
constexpr double kMostFitError = 0.25;  // beyond it the time of a step is no straight line, and its parts say nothing

struct Fired {
  const Cell* cell;
  double weight;                    // severity
};

// Makes one reason of all rows to which a rule applies, with the evidence of the best row on several devices if it is among
// them.
void add(std::vector<Reason>& all, const Comparison& comparison, const std::vector<Fired>& fired, const char* rule,
         const char* title, const std::function<std::string(const Cell&)>& evidence, const char* action) {
  if (fired.empty()) return;
  const Cell* best = best_on_several(comparison);
  auto chosen = std::find_if(fired.begin(), fired.end(), [&](const Fired& one) { return one.cell == best; });
  if (chosen == fired.end())
    chosen = std::max_element(fired.begin(), fired.end(), [](const Fired& a, const Fired& b) { return a.weight < b.weight; });
  std::string text = evidence(*chosen->cell);
  if (fired.size() > 1) text += fmt::format(" The same applies to {} more row{}.", fired.size() - 1, fired.size() == 2 ? "" : "s");
  all.push_back({rule, title, text, action});
}

template <class F>
std::vector<Fired> where(const Comparison& comparison, const F& weight) {
  std::vector<Fired> fired;
  for (const Cell& cell : comparison.cells) {
    if (cell.done.empty() || cell.trial().ranks_per_device != 1) continue;
    if (const std::optional<double> found = weight(cell)) fired.push_back({&cell, *found});
  }
  return fired;
}

double share(const Cell& cell, double Breakdown::* part) { return cell.breakdown.*part / cell.breakdown.step; }

// The cost of computing, by kind of device and network, fitted on the rows of all strategies together: the cost of a sample
// does not depend on the strategy. Rows in free pace are left out, because their ranks train different numbers of samples.
class Works {
 public:
  explicit Works(const Comparison& comparison) {
    std::map<Key, std::vector<const Cell*>> rows;
    for (const Cell& cell : comparison.cells) {
      if (!cell.done.empty() && cell.trial().ranks_per_device == 1 && !cell.breakdown.is_inferred && !cell.runs_freely)
        rows[key(cell)].push_back(&cell);
    }
    for (const auto& [name, cells] : rows) all_[name] = fit_work(cells, computing_seconds);
  }
  std::optional<StepTime> of(const Cell& cell) const {
    const auto found = all_.find(key(cell));
    return found == all_.end() ? std::nullopt : found->second;
  }

 private:
  using Key = std::pair<std::string, DeviceKind>;
  static Key key(const Cell& cell) { return {cell.trial().variant, cell.trial().device_kind}; }
  std::map<Key, std::optional<StepTime>> all_;
};

// E1 and E2: whether bandwidth or latency limits the exchange.
void explain_exchange(const Comparison& comparison, std::vector<Reason>& all) {
  const auto much = [](const Cell& cell) -> std::optional<double> {
    const bool fires = cell.trial().devices > 1 && cell.breakdown.reliable() &&
                       share(cell, &Breakdown::exchange) > kMuchExchange;
    return fires ? std::optional(share(cell, &Breakdown::exchange)) : std::nullopt;
  };
  std::vector<Fired> by_size, by_count, by_both, unknown;
  const CallTimes times(comparison);
  std::map<const Cell*, CallTime> calls;
  for (const Fired& one : where(comparison, much)) {
    const std::optional<CallTime> call = times.of(*one.cell);
    if (!call) {
      unknown.push_back(one);
      continue;
    }
    calls[one.cell] = *call;
    (call->moving > 3 * call->latency ? by_size : call->latency > call->moving ? by_count : by_both).push_back(one);
  }
  const auto evidence = [&](const char* cause) {
    return [&calls, cause](const Cell& cell) {
      std::string text = fmt::format("{}: {} of the step is exposed exchange ({} sent by each rank, {}){}.", title_of(cell),
                                     percent_text(share(cell, &Breakdown::exchange)), bytes_text(cell.bytes_per_step.median),
                                     seconds_text(cell.breakdown.exchange), cause);
      const auto call = calls.find(&cell);
      if (call != calls.end() && call->second.is_bare)
        text += fmt::format(" A separate all-reduce that sends {} takes {} on this machine, {} of which does not depend on its size.",
                            bytes_text(call->second.bytes), seconds_text(call->second.latency + call->second.moving),
                            seconds_text(call->second.latency));
      return text;
    };
  };
  add(all, comparison, by_size, "E1", "Communication, limited by bandwidth", evidence(", and its time follows the size"),
      "Send fewer bytes (a strategy that compresses), overlap the exchange with computing, or exchange less often.");
  add(all, comparison, by_both, "E1", "Communication, limited by bandwidth and latency",
      evidence(", and its time depends on size and number of messages about equally"),
      "Exchange less often, or overlap the exchange with computing; fewer bytes or fewer messages alone help partly.");
  add(all, comparison, by_count, "E2", "Communication, limited by latency",
      evidence(", and most of that does not depend on the size"),
      "Fuse messages into fewer (larger buckets), or exchange less often; compressing will not help.");
  add(all, comparison, unknown, "E1", "Communication",
      evidence(", and the rows that exchange in the same way have too similar sizes to separate latency from bandwidth"),
      "Exchange less often, or overlap the exchange with computing; rows of the same strategy with another model size "
      "would show whether bandwidth or latency is the limit.");
}

void explain_little_work(const Comparison& comparison, const Works& works, std::vector<Reason>& all) {
  std::map<const Cell*, double> fixed_seconds;
  const std::vector<Fired> fired = where(comparison, [&](const Cell& cell) -> std::optional<double> {
    if (cell.trial().devices < 2) return std::nullopt;
    const std::optional<StepTime> work = works.of(cell);
    if (!work || work->error > kMostFitError) return std::nullopt;
    const double samples = work->per_sample * samples_per_device(cell);
    const double fixed = work->fixed + (cell.breakdown.reliable() ? cell.breakdown.optimizer : 0);
    if (!(fixed > 0) || samples >= kLittleWork * fixed) return std::nullopt;
    fixed_seconds[&cell] = fixed;
    return fixed / samples;
  });
  add(all, comparison, fired, "E3", "Too little work for a device",
      [&](const Cell& cell) {
        const bool is_sure = works.of(cell)->sizes > 2;
        return fmt::format("{}: {:.0f} samples per device; {} of each step do not depend on the number of samples, so more devices "
                           "do not reduce them{}.",
                           title_of(cell), samples_per_device(cell), seconds_text(fixed_seconds[&cell]),
                           is_sure ? "" : ", as far as two sizes of a share tell");
      },
      "Give each device more samples per step; below the break-even batch of a row more devices do not pay.");
}

void explain_input(const Comparison& comparison, std::vector<Reason>& all) {
  const auto fired = where(comparison, [](const Cell& cell) -> std::optional<double> {
    const bool fires = cell.breakdown.reliable() && share(cell, &Breakdown::input) > kMuchInput;
    return fires ? std::optional(share(cell, &Breakdown::input)) : std::nullopt;
  });
  const bool keeps_on_host = std::any_of(fired.begin(), fired.end(), [](const Fired& one) { return one.cell->done.front()->config->data.on != DataLocation::device; });
  add(all, comparison, fired, "E4", "Input",
      [](const Cell& cell) {
        return fmt::format("{}: {} of the step is making batches of samples.", title_of(cell),
                           percent_text(share(cell, &Breakdown::input)));
      },
      keeps_on_host ? "Keep the samples on the device (`data.on: device`)." : "The samples are on the device already; with a larger network this is a smaller share of the step.");
}

void explain_waiting(const Comparison& comparison, std::vector<Reason>& all) {
  const auto fired = where(comparison, [](const Cell& cell) -> std::optional<double> {
    const auto found = straggler(cell);
    return found ? std::optional(found->ratio) : std::nullopt;
  });
  add(all, comparison, fired, "E5", "A straggler",
      [](const Cell& cell) {
        const Straggler found = *straggler(cell);
        const bool of_two = cell.done.front()->result.ranks.size() == 2;
        return fmt::format("{}: rank {} takes {} longer to compute than {} for {} of the step.", title_of(cell), found.rank,
                           percent_text(found.ratio - 1), of_two ? "the other, which waits" : "the others, which wait",
                           percent_text(found.waiting));
      },
      "Check that device's clock, temperature and other users; on a CPU, what else runs on its core.");
  const auto in_turn = where(comparison, [](const Cell& cell) -> std::optional<double> {
    const double waiting = share(cell, &Breakdown::waiting);
    return waiting > kMuchWaiting && waits_in_turn(cell) ? std::optional(waiting) : std::nullopt;
  });
  add(
      all, comparison, in_turn, "E9", "Ranks that wait for each other in turn",
      [](const Cell& cell) {
        return fmt::format(
            "{}: {} of the step is waiting, but all ranks compute for about the same time, and wait for about the same time: none is a straggler. "
            "In some steps one rank is late and in others another, or all are woken up late.",
            title_of(cell), percent_text(share(cell, &Breakdown::waiting)));
      },
      "Let nothing else use the processors of the ranks, and give each device more samples per step, so that ranks meet less often.");
}

// Each rank normalises its own share of the batch.
bool has_own_statistics(const Cell& cell) {
  const Config& config = *cell.first->config;
  return cell.trial().ranks() > 1 && config.batch_norm == BatchNormPolicy::local &&
         std::any_of(config.model.layers.begin(), config.model.layers.end(), [](const LayerConfig& layer) { return layer.type == LayerType::batch_norm; });
}

// A row that learns less than the baseline does so because of its larger batch, or because its strategy is approximate.
void add_learning(std::vector<Reason>& all, const Comparison& comparison, const std::vector<Fired>& fired, const char* rule, const char* title,
                  const std::function<std::string(const Cell&)>& evidence) {
  std::vector<Fired> by_batch, by_promise, by_both, by_statistics, by_chance;
  for (const Fired& one : fired) {
    const Cell& cell = *one.cell;
    const bool same_batch = cell.trial().global_batch == comparison.cells[*cell.baseline].trial().global_batch;
    (cell.is_exact ? (same_batch ? by_chance : by_batch) : !same_batch ? by_both : has_own_statistics(cell) ? by_statistics : by_promise).push_back(one);
  }
  add(all, comparison, by_batch, rule, title, evidence,
      "Tune the learning rate for this batch (`schedule.batch_rule`, warm-up) before judging the strategy.");
  add(all, comparison, by_promise, rule, title, evidence,
      "The batch is the same as the baseline's, but the strategy approximates its updates: tune the approximation (staleness, "
      "compression, steps between exchanges), and try other learning rates for this row alone (`variants`), before judging the strategy.");
  add(all, comparison, by_both, rule, title, evidence,
      "Tune the learning rate for this batch (`schedule.batch_rule`, warm-up) and the approximation of the strategy "
      "(staleness, compression, steps between exchanges) before judging it.");
  add(all, comparison, by_statistics, rule, title, evidence,
      "Each device normalises its own share of the batch, which changes the updates: try `batch_norm: sync`. If the strategy itself approximates (staleness, "
      "compression, steps between exchanges), tune that, too, before judging it.");
  add(all, comparison, by_chance, rule, title, evidence,
      "The strategy promises the baseline's updates at the baseline's batch, so the difference is chance or rounding: measure "
      "more repeats, and check the strategy with `mgcompare verify`.");
}

void explain_learning(const Comparison& comparison, std::vector<Reason>& all) {
  if (!comparison.target_reached) return;
  const auto gained = [&](const Cell& cell) {
    return cell.baseline ? ratio(comparison.cells[*cell.baseline].done, cell.done, time_to_target) : Spread{};
  };
  // The samples/s of the same repeats: those that missed the target have no time.
  const auto speed_up = [&](const Cell& cell) { return ratio(cell.done, comparison.cells[*cell.baseline].done, throughput_if_reached).median; };
  // Epochs to the target as a multiple of the baseline's; 0: not known.
  const auto more_epochs = [&](const Cell& cell) {
    return ratio(cell.done, comparison.cells[*cell.baseline].done, epochs_to_target).median;
  };
  const auto needs_more = [&](const Cell& cell) { return more_epochs(cell) > 1 + kNoiseFloor; };
  const auto lost = [&](const Cell& cell) -> std::optional<double> {
    const Spread time = gained(cell);
    if (cell.many_models || time.count == 0 || !(time.median > 0)) return std::nullopt;
    const double factor = speed_up(cell) / time.median;
    return factor > kLostByLearning ? std::optional(factor) : std::nullopt;
  };
  const auto fired = where(comparison, [&](const Cell& cell) -> std::optional<double> {
    const std::optional<double> factor = lost(cell);
    return factor && needs_more(cell) ? factor : std::nullopt;
  });
  const auto difference = [&](const Cell& cell) {
    return fmt::format("{}: {:.2f} times the samples/s of one device, but only {:.2f} times as fast to {}", title_of(cell),
                       speed_up(cell), gained(cell).median, target_text(comparison.target_accuracy));
  };
  const char* const slow_start = "up to the target its samples/s are lower, against the baseline's, than over the whole training";
  const auto evidence = [&](const Cell& cell) {
    const double epochs = more_epochs(cell);
    const bool is_slower_too = *lost(cell) / epochs > kLostByLearning;
    return fmt::format("{}: it needs {:.2f} times as many epochs{}.", difference(cell), epochs,
                       is_slower_too ? fmt::format(", and {}", slow_start) : "");
  };
  add_learning(all, comparison, fired, "E6", "Statistical efficiency", evidence);
  add(all, comparison, where(comparison, [&](const Cell& cell) -> std::optional<double> {
        const std::optional<double> factor = lost(cell);
        return factor && more_epochs(cell) > 0 && !needs_more(cell) ? factor : std::nullopt;
      }),
      "E8", "Trials that change while they run",
      [&](const Cell& cell) { return fmt::format("{}, although it needs no more epochs: {}.", difference(cell), slow_start); },
      "Look for what slows down the beginning of trials: other programs, clocks, too short a warm-up (`measure.warm_up_steps`); or train "
      "more samples in an epoch.");
}

// Of rows without a time to the target.
void explain_accuracy(const Comparison& comparison, std::vector<Reason>& all) {
  const auto fired = where(comparison, [&](const Cell& cell) -> std::optional<double> {
    if (!cell.baseline || cell.many_models || cell.is_disqualified() || cell.reached_target > 0) return std::nullopt;
    const Cell& base = comparison.cells[*cell.baseline];
    return lower_accuracy_text(cell, base).empty() ? std::nullopt : std::optional(base.accuracy.median - cell.accuracy.median);
  });
  const auto evidence = [&](const Cell& cell) {
    const Cell& base = comparison.cells[*cell.baseline];
    const double updates = ratio(cell.updates, base.updates).median;  // 0: not known
    const std::string made = !(updates > 0)                         ? ""
                             : std::abs(updates - 1) < kSameUpdates ? ", in which it made as many updates"
                                                                    : fmt::format(", in which it made {:.2f} times as many updates", updates);
    return fmt::format("{}: accuracy {} of one device after as many epochs{}.", title_of(cell), lower_accuracy_text(cell, base), made);
  };
  add_learning(all, comparison, fired, "E10", "Lost accuracy", evidence);
}

void explain_oversubscription(const Comparison& comparison, std::vector<Reason>& all) {
  const auto fired = where(comparison, [&](const Cell& cell) -> std::optional<double> {
    const auto found = oversubscription(*comparison.run, cell);
    return found ? std::optional(found->threads) : std::nullopt;
  });
  const bool is_by_others = std::all_of(fired.begin(), fired.end(), [&](const auto& one) { return oversubscription(*comparison.run, *one.cell)->is_by_others(); });
  add(all, comparison, fired, "E7", "Oversubscription",
      [&](const Cell& cell) {
        const Oversubscription found = *oversubscription(*comparison.run, cell);
        const std::string others =
            found.load > 0 ? fmt::format("; the load average of the minute before the run, which may include an earlier run, was {:.2f}", found.load) : "";
        return fmt::format("{}: {:.0f} thread{} on {:.0f} physical cores{}.", title_of(cell), found.threads, found.threads == 1 ? "" : "s", found.cores, others);
      },
      is_by_others ? "Stop other programs, and measure again." : "Use fewer devices or stop other programs, and measure again.");
}

void explain_drift(const Comparison& comparison, std::vector<Reason>& all) {
  const std::vector<SpeedDrift> found = drifts(comparison);
  if (found.empty()) return;
  const SpeedDrift& worst = largest(found);
  std::string text = fmt::format(
      "Between {} and {} the samples/s of {} changed by {}: results from that time are doubtful.",
      plain(worst.before->started), plain(worst.after->finished), plain(row_name(worst.before->trial)), change_text(worst.change));
  if (found.size() > 1) text += fmt::format(" This is the largest of {} changes of more than 3 %.", found.size());
  all.push_back({"E8", "An unstable machine", text,
                 "Run again while nothing else uses the machine; more repeats do not correct for a machine that "
                 "changes."});
}

// E8 within trials: explain_drift() covers the machine over the whole run.
void explain_drifting_trials(const Comparison& comparison, std::vector<Reason>& all) {
  const auto fired = where(comparison, [](const Cell& cell) -> std::optional<double> {
    return cell.is_drifting() ? std::optional(std::abs(cell.window_drift.median)) : std::nullopt;
  });
  add(all, comparison, fired, "E8", "Trials that change while they run",
      [](const Cell& cell) {
        const double drift = cell.window_drift.median;
        return fmt::format("{}: in each of {} repeats the last windows are {} than the first, by {} in the median, so the "
                           "samples/s depend on how long it runs.",
                           title_of(cell), cell.window_drift.count, drift > 0 ? "faster" : "slower",
                           percent_text(std::abs(drift)));
      },
      "Use a longer warm-up (`measure.level: thorough`, `measure.warm_up_steps`); if trials become slower, check clocks "
      "and temperature.");
}

}  // namespace

std::vector<Reason> explain(const Comparison& comparison) {
  std::vector<Reason> all;
  explain_exchange(comparison, all);
  explain_little_work(comparison, Works(comparison), all);
  explain_input(comparison, all);
  explain_waiting(comparison, all);
  explain_learning(comparison, all);
  explain_accuracy(comparison, all);
  explain_oversubscription(comparison, all);
  explain_drift(comparison, all);
  explain_drifting_trials(comparison, all);
  return all;
}

Table break_even_table(const Comparison& comparison) {
  Table table{"Break-even batch",
              "Estimated global batch above which several devices are faster than one: the saved computing exceeds the additional cost "
              "of their steps (exchange, waiting, updates, the strategy's own work, host). The cost of a sample is fitted on the "
              "reliable rows of all strategies together. Sizes: how many different batches per device they have. Below N: "
              "smaller than the smallest measured batch per device, times the devices. A fit on two sizes cannot be checked and has no error; one that is off "
              "by more than 25 % tells no batch.",
              {"strategy", "devices", "break-even", "cost a step", "cost a sample", "sizes", "largest error of the fit"},
              2,
              {},
              {}};
  const Works works(comparison);
  // Additional cost of a step against the row's own baseline, by series and devices, over all batches.
  std::map<std::tuple<std::string, DeviceKind, std::size_t>, std::vector<double>> costs;
  const auto key = [](const Cell& cell) { return std::tuple(cell.series, cell.trial().device_kind, cell.trial().devices); };
  const auto fits = [](const Cell& cell) {
    return !cell.done.empty() && cell.trial().ranks_per_device == 1 && cell.trial().hosts == 1 && cell.trial().devices > 1 && !cell.is_ceiling &&
           cell.trial().scaling == ScalingMode::strong && cell.baseline && !cell.runs_freely;
  };
  const auto known = [](const Cell& cell) { return cell.breakdown.reliable() && !cell.breakdown.is_inferred; };
  for (const Cell& cell : comparison.cells) {
    if (!fits(cell)) continue;
    const Cell& one = comparison.cells[*cell.baseline];
    if (known(cell) && known(one)) costs[key(cell)].push_back(other_seconds(cell) - other_seconds(one));
  }
  for (const Cell& cell : comparison.cells) {
    const auto paid = fits(cell) ? costs.find(key(cell)) : costs.end();
    const std::optional<StepTime> work = works.of(cell);
    if (paid == costs.end() || !work) continue;
    const TrialKey& trial = cell.trial();
    const double cost = std::max(0.0, median(paid->second));
    costs.erase(paid);
    const std::optional<double> batch = break_even_batch(*work, cost, trial.devices);
    if (!batch) continue;
    const double least = work->least * static_cast<double>(trial.devices);
    table.lines.push_back({cell.series, fmt::format("{}:{}", to_string(trial.device_kind), trial.devices),
                           work->error > kMostFitError ? "not known"
                           : *batch < least            ? "below " + count_text(least)
                                                       : count_text(*batch),
                           cost > 0 ? seconds_text(cost) : "none seen", seconds_text(work->per_sample), fmt::format("{}", work->sizes),
                           work->sizes > 2 ? percent_text(work->error) : "-"});
  }
  return table;
}

}  // namespace mgcompare
