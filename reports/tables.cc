#include "reports/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/findings.h"
#include "reports/table_rows.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

// The result of the test of the row's samples/s against the baseline's.
std::string order_text(const Comparison& comparison, const Cell& cell) {
  if (!cell.baseline) return "-";
  const Cell& base = comparison.cells[*cell.baseline];
  if (&base == &cell) return "-";
  const char* order = cell.order == Order::above   ? "faster\nthan"
                      : cell.order == Order::below ? "slower\nthan"
                                                   : "undecided\nagainst";
  return fmt::format("{} {}", order, title_of(base));
}

// What the baseline is, where several frameworks have their own.
std::string own_baselines_text(const Comparison& comparison) {
  return comparison.has_frameworks() ? " Rows of another framework are compared with its own fastest row on one device; By framework compares frameworks." : "";
}

// With the row's marks on the second line.
std::string promise_text(const Cell& cell) {
  const std::string promise = cell.is_ceiling    ? "ceiling"
                              : cell.is_baseline ? "baseline"
                              : cell.is_exact    ? "exact"
                                                 : "approximate";
  return cell.marks.empty() ? promise : fmt::format("{}\n({})", promise, marks_text(cell.marks));
}

// A single number if all repeats have the same.
std::string count_of(const Spread& spread) {
  return spread.count > 0 && spread.least == spread.most ? count_text(spread.median) : in_two(with_range(spread, count_text));
}

// The spread of the windows of a trial, marked if they drift or are unsteady.
std::string steadiness_text(const Cell& cell) {
  if (cell.window_spread.count == 0) return "-";
  const std::string spread = percent_text(cell.window_spread.median);
  if (cell.is_drifting()) return fmt::format("{}\n(drifts by {:+.1f} %)", spread, 100 * cell.window_drift.median);
  return cell.is_unsteady() ? spread + "\n(unsteady)" : spread;
}

}  // namespace

std::string in_two(std::string figure) {
  if (const std::size_t range = figure.find(" ["); range != std::string::npos) figure[range] = '\n';
  return figure;
}

std::string origin_of_parts(const Comparison& comparison) {
  bool has_cpu = false, has_cuda = false, has_inferred = false;
  for (const Cell& cell : comparison.cells) {
    if (!cell.breakdown.exists()) continue;
    (cell.breakdown.is_inferred                           ? has_inferred
     : cell.trial().device_kind == DeviceKind::cpu ? has_cpu
                                                          : has_cuda) = true;
  }
  std::string text;
  if (has_cpu)
    text += " On CPU devices one clock switches from part to part in every step; the strategy's own work is the rest of the step.";
  if (has_cuda)
    text += " On GPUs the device records timestamps in some steps before the training, which are extrapolated to all steps; the cost "
            "of the timestamps is subtracted.";
  if (has_inferred) text += " In rows of an older version compute is the step time less the other clocks.";
  return text.empty() ? text : text.substr(1);
}

Table speed_table(const Comparison& comparison) {
  const auto line = [&](const Cell& cell) {
    return with(identity(cell),
                {in_two(with_range(cell.samples_per_second, rate_text)), steadiness_text(cell),
                 in_two(with_range(cell.speed_up)), in_two(with_range(cell.efficiency, percent_text)),
                 order_text(comparison, cell), count_of(cell.updates),
                 promise_text(cell),
                 std::string(to_string(precision_of(*cell.first->config, cell.trial().device_kind)))});
  };
  return {"Speed-up and efficiency",
          std::string("Speed-up: samples/s divided by those of the one-device baseline on the same kind of device, at the same global batch "
          "(strong scaling) or batch per device (weak), by seed. Efficiency: speed-up divided by devices. Neither is "
          "clipped. Rows whose ranks share a device have none. Within a trial: the spread of its windows, (fastest - "
          "slowest) / median, in the median repeat; unsteady above 5 %; drifting if the last half is faster than the first in "
          "every repeat, or slower in every repeat, by more than 3 % in the median. Promise: of an exact row, the weights of one "
          "device; below it the row's marks, which the remarks at the top explain.") + own_baselines_text(comparison),
          {"strategy", "devices", "global batch", "samples/s", "within a trial", "speed-up", "efficiency",
           "against the baseline", "updates", "promise", "precision"},
          2,
          lines_of(comparison, line)};
}

Table target_table(const Comparison& comparison) {
  if (!(comparison.target_accuracy > 0)) return {};
  const auto line = [&](const Cell& cell) {
    TextRow figures = {in_two(with_range(cell.seconds_to_target, seconds_text)),
                        in_two(with_range(cell.device_seconds_to_target, seconds_text)),
                        fmt::format("{} of {}", cell.reached_target, cell.done.size()), "-"};
    if (cell.many_models)
      figures[3] = "separate models";
    else if (cell.baseline)
      figures[3] = in_two(with_range(ratio(comparison.cells[*cell.baseline].done, cell.done, time_to_target)));
    return with(identity(cell), figures);
  };
  return {fmt::format("Time to {}", target_text(comparison.target_accuracy)),
          "Training seconds, interpolated between the last evaluation below it and the first that reached it." + own_baselines_text(comparison),
          {"strategy", "devices", "global batch", "seconds", "device-seconds", "repeats that reached it",
           "times as fast as the baseline"},
          2,
          lines_of(comparison, line)};
}

// Whether the parts are reliable, and if not the reason.
std::string reliability(const Breakdown& parts) {
  if (!parts.exists()) return "-";
  if (parts.unmeasured) return "no\n(exchange was not measured)";
  if (parts.is_negative) return "no\n(the other clocks exceed the steps)";
  if (!parts.reliable()) return fmt::format("no\n(the parts are {} of a rank's time)", percent_text(parts.worst));
  return parts.is_inferred ? "in part\n(older version: compute is the rest of the step)" : "yes";
}

Table time_table(const Comparison& comparison) {
  const auto line = [](const Cell& cell) {
    const Breakdown& parts = cell.breakdown;
    const double sum = parts.sum();
    const auto share = [&](double part) { return parts.exists() ? percent_text(part / sum) : "-"; };
    const auto if_seen = [&](double part) { return parts.has(cell.trial().device_kind) ? share(part) : "-"; };
    return with(identity(cell),
                {share(parts.compute), if_seen(parts.optimizer), share(parts.exchange), share(parts.waiting),
                 if_seen(parts.input), parts.is_inferred ? "-" : share(parts.strategy), share(parts.host), reliability(parts),
                 parts.exists() ? percent_text(parts.overlapped / sum) : "-",
                 in_two(with_range(cell.step_seconds, seconds_text))});
  };
  return {"Where the time goes",
          std::string("Shares of the training time of all ranks: compute, updates, exposed exchange, waiting for other ranks, "
                      "making batches, the strategy's own work, and the host outside of steps. ") +
              origin_of_parts(comparison) +
              " Reliable: in every repeat the parts of every rank sum to the training clock within 2 %. Hidden exchange overlaps "
              "compute and is not one of the parts.",
          {"strategy", "devices", "global batch", "compute", "optimiser", "exchange", "waiting", "input", "strategy's own", "host",
           "reliable", "hidden exchange", "median step"},
          2,
          lines_of(comparison, line)};
}

Table rank_table(const Comparison& comparison) {
  Table table{"By rank",
              std::string("Seconds of each rank's training, in the first repeat of each row with several ranks. ") +
                  origin_of_parts(comparison),
              {"strategy", "devices", "global batch", "rank", "device", "compute", "optimiser", "exchange", "waiting", "input",
               "strategy's own", "host", "hidden exchange"},
              2,
              {}, {}};
  for (const Cell& cell : comparison.cells) {
    if (cell.done.empty() || cell.trial().ranks() < 2) continue;
    const Result& result = cell.done.front()->result;
    const bool has_all = cell.breakdown.has(cell.trial().device_kind);
    for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
      const RankTimes& times = result.ranks[rank];
      table.lines.push_back(with(
          identity(cell), {fmt::format("{}", rank), rank < result.placement.size() ? result.placement[rank].device : "-",
                           seconds_text(times.compute), has_all ? seconds_text(times.optimizer) : "-",
                           seconds_text(times.exchange), seconds_text(times.waiting),
                           has_all ? seconds_text(times.input) : "-",
                           cell.breakdown.is_inferred ? "-" : seconds_text(times.strategy), seconds_text(times.harness),
                           seconds_text(times.overlapped)}));
    }
  }
  return table;
}

Table ladder_table(const Comparison& comparison) {
  Table table{"What if",
              "The speed-up without one cost after the other, computed from the parts of the step, not measured. No waiting: neither for a rank that is "
              "slower than the others, nor for each other in turn. Own work: what the strategy does in a step besides exchanging. No value exceeds the ideal. "
              "The rest below the ideal is computing and "
              "updates that did not shrink with the batch per device, and the host. Rows with unreliable parts, and rows that are "
              "faster than ideal, are left out.",
              {"strategy", "devices", "global batch", "measured", "communication free", "input free", "no waiting", "own work free", "ideal"},
              2,
              {},
              {}};
  for (const Cell& cell : comparison.cells) {
    const std::vector<Rung> rungs = what_if(cell.breakdown, cell.speed_up.median, cell.trial().devices);
    if (rungs.empty() || cell.trial().devices < 2) continue;
    TextRow line = identity(cell);
    for (const Rung& rung : rungs) line.push_back(fmt::format("{:.2f}x", rung.speed_up));
    table.lines.push_back(line);
  }
  return table;
}

Table bytes_table(const Comparison& comparison) {
  const auto line = [](const Cell& cell) {
    const Result& result = cell.done.front()->result;
    const double gradient = 4.0 * static_cast<double>(result.parameters);
    return with(identity(cell), {bytes_text(cell.bytes_per_step.median), bytes_text(gradient),
                                 gradient > 0 ? fmt::format("{:.3f}", cell.bytes_per_step.median / gradient) : "-",
                                 std::isnan(result.seconds_other_threads) ? "-" : count_text(static_cast<double>(result.exclusive_sections)),
                                 std::isnan(result.seconds_other_threads) ? "-" : bytes_text(shared_bytes(result)),
                                 bytes_text(static_cast<double>(result.peak_memory))});
  };
  return {"Bytes",
          "Payload that a rank sends per step, compared with the gradient in single precision; exclusive sections of all ranks and "
          "host objects that they share, in the first repeat, through which data can pass uncounted; peak memory of the device that "
          "uses most.",
          {"strategy", "devices", "global batch", "sent per step", "gradient", "sent / gradient", "exclusive sections", "shared",
           "peak memory"},
          2,
          lines_of(comparison, line)};
}

// At most kMostEpochs of them, evenly spaced, with the first and the last one. From 0.
std::vector<std::size_t> shown_epochs(std::size_t count) {
  constexpr std::size_t kMostEpochs = 12;
  std::vector<std::size_t> shown;
  const std::size_t some = std::min(count, kMostEpochs);
  for (std::size_t k = 0; k < some; ++k) shown.push_back(some == 1 ? 0 : k * (count - 1) / (some - 1));
  return shown;
}

Table epoch_table(const Comparison& comparison) {
  std::size_t count = 0;
  for (const Cell& cell : comparison.cells) {
    for (const Row* row : cell.done) count = std::max(count, row->result.epochs.size());
  }
  if (count == 0) return {};
  const std::vector<std::size_t> epochs = shown_epochs(count);
  TextRow head = {"strategy", "devices", "global batch"};
  for (const std::size_t epoch : epochs) head.push_back(fmt::format("{}", epoch + 1));
  head.push_back("last test loss");
  const auto line = [&](const Cell& cell) {
    TextRow text = identity(cell);
    for (const std::size_t epoch : epochs) {
      std::vector<double> values;
      for (const Row* row : cell.done) {
        if (epoch < row->result.epochs.size()) values.push_back(row->result.epochs[epoch].accuracy);
      }
      const Spread spread = spread_of(std::move(values));
      text.push_back(spread.count == 0 ? "-" : accuracy_text(spread.median));
    }
    std::vector<double> losses;
    for (const Row* row : cell.done)
      if (!row->result.epochs.empty() && std::isfinite(row->result.epochs.back().test_loss)) losses.push_back(row->result.epochs.back().test_loss);
    const Spread loss = spread_of(std::move(losses));
    text.push_back(loss.count == 0 ? "-" : fmt::format("{:.4g}", loss.median));
    return text;
  };
  const std::string some = epochs.size() < count ? fmt::format(" {} of {} epochs.", epochs.size(), count) : "";
  return {"Accuracy by epoch", "Medians over repeats, on the test samples; test loss: the mean after the last epoch." + some, head, 2, lines_of(comparison, line)};
}

Table metric_table(const Comparison& comparison) {
  std::vector<TextRow> lines;
  for (const Cell& cell : comparison.cells) {
    if (cell.done.empty()) continue;
    const auto& metrics = cell.done.front()->result.metrics;
    for (std::size_t rank = 0; rank < metrics.size(); ++rank) {
      for (const auto& [name, metric] : metrics[rank]) {
        lines.push_back(with(identity(cell), {fmt::format("{}", rank), name, fmt::format("{:.6g}", metric.mean),
                                              fmt::format("{:.6g}", metric.least), fmt::format("{:.6g}", metric.most),
                                              fmt::format("{:.6g}", metric.last)}));
      }
    }
  }
  return {"What the strategies recorded",
          "Of the first repeat, over its steps.",
          {"strategy", "devices", "global batch", "rank", "metric", "mean", "least", "most", "last"},
          2,
          lines};
}

Table outlier_table(const Comparison& comparison) {
  Table table{"Outliers",
              "Repeats whose samples/s are far from the median of their row (modified z-score above 3.5, at least five repeats). "
              "They are included in all figures.",
              {"strategy", "devices", "global batch", "seed", "trial", "finished", "samples/s", "median of the row"},
              2,
              {}, {}};
  for (const Cell& cell : comparison.cells) {
    std::vector<double> rates;
    for (const Row* row : cell.done) rates.push_back(throughput(*row));
    const std::vector<bool> flags = outliers(rates);
    for (std::size_t i = 0; i < flags.size(); ++i) {
      if (!flags[i]) continue;
      table.lines.push_back(with(identity(cell), {fmt::format("{}", cell.done[i]->trial.seed),
                                                  fmt::format("{}", cell.done[i]->trial.number), cell.done[i]->finished,
                                                  rate_text(rates[i]), rate_text(cell.samples_per_second.median)}));
    }
  }
  return table;
}

Table order_table(const Run& run) {
  Table table{"Order of execution",
              "",
              {"sequence", "trial", "row", "seed", "status", "finished", "attempt", "weights"},
              8,
              {}, {}};
  std::vector<const Row*> executed;
  for (const Row& row : run.rows) {
    if (row.sequence > 0) executed.push_back(&row);
  }
  std::sort(executed.begin(), executed.end(), [](const Row* a, const Row* b) { return a->sequence < b->sequence; });
  for (const Row* row : executed) {
    table.lines.push_back({fmt::format("{}", row->sequence), fmt::format("{}", row->trial.number),
                           row_name(row->trial) + (row->trial.bracket > 0 ? " (bracket)"
                                                   : row->trial.control   ? " (control)"
                                                   : row->trial.reference ? " (reference)"
                                                                          : ""),
                           fmt::format("{}", row->trial.seed), std::string(to_string(row->result.status)), row->finished, fmt::format("{}", row->attempt),
                           row->result.weights_hash.substr(0, 12)});
  }
  return table;
}

}  // namespace mgcompare
