#include "reports/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "reports/comparison.h"
#include "reports/findings.h"
#include "reports/machine.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

using Line = std::vector<std::string>;

// Cells are escaped here, so that no caller can forget it. Columns after the first `left` are figures.
std::string table(const Line& head, std::size_t left, const std::vector<Line>& lines) {
  if (lines.empty()) return "None.\n";
  std::string text = "|";
  for (const std::string& cell : head) text += fmt::format(" {} |", markdown(cell));
  text += "\n|";
  for (std::size_t i = 0; i < head.size(); ++i) text += i < left ? " --- |" : " ---: |";
  text += "\n";
  for (const Line& line : lines) {
    text += "|";
    for (const std::string& cell : line) text += fmt::format(" {} |", markdown(cell));
    text += "\n";
  }
  return text;
}

std::string devices_of(const Trial& trial) {
  std::string text = fmt::format("{}:{}", to_string(trial.device_kind), trial.devices);
  return trial.ranks_per_device == 1 ? text : text + fmt::format(" x {} ranks", trial.ranks_per_device);
}

std::string strategy_of(const Trial& trial) {
  return trial.variant.empty() ? trial.strategy.label : fmt::format("{} ({})", trial.strategy.label, trial.variant);
}

Line identity(const Cell& cell) {
  return {strategy_of(cell.trial()), devices_of(cell.trial()), fmt::format("{}", cell.trial().global_batch)};
}

Line with(Line line, const Line& more) {
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

template <class F>
std::vector<Line> lines_of(const Comparison& comparison, const F& line) {
  std::vector<Line> lines;
  for (const Cell& cell : comparison.cells) {
    if (!cell.done.empty()) lines.push_back(line(cell));
  }
  return lines;
}

std::string introduction(const Comparison& comparison) {
  const RunInfo& info = comparison.run->info;
  std::string text = fmt::format("# {}\n\n", markdown(info.name));
  for (const Finding& finding : findings(comparison)) {
    text += fmt::format("{}- {}.\n", finding.level == 0 ? "" : "  ", markdown(finding.text));
  }
  text += fmt::format("\nData: {} ({}), SHA-256 {}. Begun {} with mgcompare {}. {} of {} trials were completed.\n",
                      info.data_name.empty() ? "not recorded" : markdown(info.data_name), markdown(info.data_origin),
                      info.data_fingerprint.empty() ? "unknown" : markdown(info.data_fingerprint),
                      markdown(info.started), markdown(info.program_version), comparison.done, comparison.trials);
  return text;
}

std::string infrastructure(const Comparison& comparison) {
  std::map<std::string, std::string> facts(comparison.run->info.environment.begin(),
                                           comparison.run->info.environment.end());
  std::string text;
  for (const char* key : {"cpu", "cpu cores", "memory", "cuda:0", "kernel"}) {
    const std::string& value = facts[key];
    if (!value.empty() && text.find(value) == std::string::npos) text += (text.empty() ? "" : ", ") + value;
  }
  return text.empty() ? "not recorded" : text;
}

// The columns of the experiments that this program repeats; where they have no GPU, `gpus` is 0.
std::string results_table(const Comparison& comparison) {
  const auto line = [](const Cell& cell) -> Line {
    const Trial& trial = cell.trial();
    const bool gpu = trial.device_kind == DeviceKind::cuda;
    const std::size_t epochs = cell.done.front()->result.epochs.size();
    return {"1",
            trial.config.model.name,
            strategy_of(trial),
            fmt::format("{}", trial.global_batch),
            gpu ? fmt::format("{}", trial.devices) : fmt::format("0 ({})", devices_of(trial)),
            accuracy_of(cell),
            fmt::format("{}", epochs),
            fmt::format("{} ({} samples/s)", with_range(cell.seconds_per_epoch, seconds_text),
                        count_text(cell.samples_per_second.median))};
  };
  return fmt::format(
      "\n## Results\n\nMedians over repeats, with the least and the most. Training time holds training alone: no "
      "set-up, no warm-up, no "
      "evaluation.\n\n* **Infrastructure 1**: {}\n\n{}",
      markdown(infrastructure(comparison)),
      table({"infrastructure", "model", "strategy", "batch size", "gpus", "accuracy", "epochs",
             "training time (s/epoch)"},
            3, lines_of(comparison, line)));
}

std::string speed_table(const Comparison& comparison) {
  const auto line = [&](const Cell& cell) {
    return with(identity(cell),
                {with_range(cell.samples_per_second, count_text), with_range(cell.speed_up),
                 with_range(cell.efficiency, percent_text),
                 cell.baseline ? title_of(comparison.cells[*cell.baseline]) : "-", with_range(cell.updates, count_text),
                 cell.is_ceiling    ? "ceiling"
                 : cell.is_baseline ? "baseline"
                 : cell.is_exact    ? "exact"
                                    : "approximate",
                 precision_of(cell.trial())});
  };
  return "\n## Speed-up and efficiency\n\nSpeed-up: samples/s over those of the one-device baseline on the same kind "
         "of device, at the same "
         "global batch (strong scaling) or batch per device (weak), seed by seed. Efficiency: speed-up over devices. "
         "Neither is clipped. Rows "
         "whose ranks share a device have none.\n\n" +
         table({"strategy", "devices", "global batch", "samples/s", "speed-up", "efficiency", "compared with",
                "updates", "promise", "precision"},
               2, lines_of(comparison, line));
}

std::string target_table(const Comparison& comparison) {
  if (!(comparison.target_accuracy > 0)) return "";
  const auto line = [&](const Cell& cell) {
    Line figures = {with_range(cell.seconds_to_target, seconds_text),
                    fmt::format("{} of {}", cell.reached_target, cell.done.size()), "-"};
    if (cell.many_models)
      figures[2] = "separate models";
    else if (cell.baseline)
      figures[2] = with_range(ratio(comparison.cells[*cell.baseline].done, cell.done, time_to_target));
    return with(identity(cell), figures);
  };
  return fmt::format("\n## Time to {}\n\nTraining seconds up to the end of the first epoch that reached it.\n\n{}",
                     percent_text(comparison.target_accuracy),
                     table({"strategy", "devices", "global batch", "seconds", "repeats that reached it",
                            "times faster than the baseline"},
                           2, lines_of(comparison, line)));
}

std::string time_table(const Comparison& comparison) {
  const auto line = [](const Cell& cell) {
    const Result& result = cell.done.front()->result;
    return with(identity(cell),
                {percent_text(cell.share_compute), percent_text(cell.share_exchange), percent_text(cell.share_waiting),
                 percent_text(cell.share_harness), with_range(cell.step_seconds, seconds_text),
                 seconds_text(result.seconds_setup), seconds_text(result.seconds_warm_up),
                 seconds_text(result.seconds_evaluation), seconds_text(result.seconds_checkpoint)});
  };
  return "\n## Where the time goes\n\nShares of all ranks' training time: computing, exchanging, waiting for other "
         "ranks, and outside of steps. "
         "The other clocks are those of the first repeat, and no part of the training time.\n\n" +
         table({"strategy", "devices", "global batch", "compute", "exchange", "waiting", "harness", "median step",
                "set-up", "warm-up", "evaluation", "checkpoint"},
               2, lines_of(comparison, line));
}

std::string bytes_table(const Comparison& comparison) {
  const auto line = [](const Cell& cell) {
    const Result& result = cell.done.front()->result;
    const double gradient = 4.0 * static_cast<double>(result.parameters);
    return with(identity(cell), {bytes_text(cell.bytes_per_step.median), bytes_text(gradient),
                                 gradient > 0 ? fmt::format("{:.3f}", cell.bytes_per_step.median / gradient) : "-",
                                 bytes_text(static_cast<double>(result.peak_memory))});
  };
  return "\n## Bytes\n\nPayload that a rank sends in a step, against the gradient in single precision; peak memory of "
         "the fullest device.\n\n" +
         table({"strategy", "devices", "global batch", "sent per step", "gradient", "sent / gradient", "peak memory"},
               2, lines_of(comparison, line));
}

std::string epoch_table(const Comparison& comparison) {
  std::size_t epochs = 0;
  for (const Cell& cell : comparison.cells) {
    for (const Row* row : cell.done) epochs = std::max(epochs, row->result.epochs.size());
  }
  if (epochs == 0) return "";
  Line head = {"strategy", "devices", "global batch"};
  for (std::size_t epoch = 1; epoch <= epochs; ++epoch) head.push_back(fmt::format("{}", epoch));
  const auto line = [&](const Cell& cell) {
    Line text = identity(cell);
    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
      std::vector<double> values;
      for (const Row* row : cell.done) {
        if (epoch < row->result.epochs.size()) values.push_back(row->result.epochs[epoch].accuracy);
      }
      const Spread spread = spread_of(std::move(values));
      text.push_back(spread.count == 0 ? "-" : accuracy_text(spread.median));
    }
    return text;
  };
  return "\n## Accuracy by epoch\n\nMedians over repeats.\n\n" + table(head, 2, lines_of(comparison, line));
}

std::string metric_table(const Comparison& comparison) {
  std::vector<Line> lines;
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
  if (lines.empty()) return "";
  return "\n## What the strategies recorded\n\nOf the first repeat, over its steps.\n\n" +
         table({"strategy", "devices", "global batch", "rank", "metric", "mean", "least", "most", "last"}, 2, lines);
}

std::string failure_section(const Comparison& comparison) {
  const std::vector<Failure> all = failures(comparison);
  std::string text = "\n## Trials that were not completed\n\n";
  if (all.empty()) return text + "None.\n";
  std::vector<Line> lines;
  for (const Failure& failure : all)
    lines.push_back({failure.title, failure.status, failure.cause, fmt::format("{}", failure.repeats)});
  text += table({"row", "status", "cause", "trials"}, 3, lines);
  for (const Failure& failure : all) {
    if (failure.last->result.log.empty()) continue;
    std::string log;
    for (const std::string& line : failure.last->result.log) log += plain(line) + "\n";
    text += fmt::format("\nThe last lines of {} (trial {}):\n\n{}", markdown(failure.title), failure.last->trial.number,
                        markdown_code(log));
  }
  return text;
}

std::string notes(const Comparison& comparison) {
  std::string text;
  for (const std::string& warning : comparison.run->info.warnings) text += fmt::format("- {}\n", markdown(warning));
  for (const Cell& cell : comparison.cells) {
    std::vector<std::string> seen;
    for (const Row* row : cell.done) {
      for (const std::string& note : row->result.notes) {
        if (std::find(seen.begin(), seen.end(), note) != seen.end()) continue;
        seen.push_back(note);
        text += fmt::format("- {}: {}\n", markdown(title_of(cell)), markdown(note));
      }
    }
  }
  return text.empty() ? "" : fmt::format("\n## Notes\n\n{}", text);
}

std::string origin_section(const Run& run) {
  std::vector<Line> environment, order;
  for (const auto& [key, value] : run.info.environment) environment.push_back({key, value});
  std::vector<const Row*> executed;
  for (const Row& row : run.rows) {
    if (row.sequence > 0) executed.push_back(&row);
  }
  std::sort(executed.begin(), executed.end(), [](const Row* a, const Row* b) { return a->sequence < b->sequence; });
  for (const Row* row : executed) {
    order.push_back({fmt::format("{}", row->sequence), fmt::format("{}", row->trial.number), row_name(row->trial),
                     fmt::format("{}", row->trial.seed), row->result.status, row->finished,
                     fmt::format("{}", row->attempt), row->result.weights_hash.substr(0, 12)});
  }
  return "\n## Environment\n\n" + table({"fact", "value"}, 2, environment) + "\n## Order of execution\n\n" +
         table({"sequence", "trial", "row", "seed", "status", "finished", "attempt", "weights"}, 8, order) +
         "\n## Config\n\nEvery default filled in; SHA-256 " + markdown(run.info.config_hash) + ".\n\n" +
         markdown_code(run.info.config_yaml, "yaml");
}

}  // namespace

std::string markdown_report(const Run& run) {
  const Comparison comparison = compare_rows(run);
  return introduction(comparison) + results_table(comparison) + speed_table(comparison) + target_table(comparison) +
         time_table(comparison) + bytes_table(comparison) + placement_section(comparison) + epoch_table(comparison) + metric_table(comparison) +
         failure_section(comparison) + notes(comparison) + links_section(run) + origin_section(run);
}

}  // namespace mgcompare
