// The results of the rows: what was trained, how well, and how long each clock ran.

#include <fmt/format.h>

#include "reports/findings.h"
#include "reports/infrastructure.h"
#include "reports/learning_rate.h"
#include "reports/table_rows.h"
#include "reports/tables.h"
#include "reports/text.h"

namespace mgcompare {

std::string devices_of(const TrialKey& trial) {
  std::string text = fmt::format("{}:{}", to_string(trial.device_kind), devices_number(trial));
  return trial.ranks_per_device == 1 ? text : text + fmt::format(" x {} ranks", trial.ranks_per_device);
}

std::string strategy_of(const TrialKey& trial) {
  return trial.variant.empty() ? trial.strategy.label : fmt::format("{} ({})", trial.strategy.label, trial.variant);
}

TextRow identity(const Cell& cell) {
  return {strategy_of(cell.trial()), devices_of(cell.trial()), fmt::format("{}", cell.trial().global_batch)};
}

TextRow with(TextRow line, const TextRow& more) {
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

Table results_table(const Comparison& comparison) {
  const std::string infrastructure_name = comparison.infrastructure.empty() ? "1" : comparison.infrastructure;
  const auto line = [&](const Cell& cell) -> TextRow {
    const TrialKey& trial = cell.trial();
    const std::size_t epochs = cell.done.front()->result.epochs.size();
    return {infrastructure_name,
            cell.first->config->model.name,
            strategy_of(trial),
            fmt::format("{}", trial.global_batch),
            devices_of(trial),
            in_two(accuracy_of(cell)),
            fmt::format("{}", epochs),
            fmt::format("{}\n({} samples/s)", with_range(cell.seconds_per_epoch, seconds_text),
                        rate_text(cell.samples_per_second.median))};
  };
  return {"Results",
          "Medians over repeats, with the 95 % interval of the median; for up to five repeats their range, which contains the "
          "true median in 75 % of cases (three repeats), 88 % (four) or 94 % (five). Training time excludes set-up, warm-up and "
          "evaluation.",
          {"infrastructure", "model", "strategy", "batch size", "devices", "accuracy", "epochs", "training time (s/epoch)"},
          3,
          lines_of(comparison, line),
          {{"Infrastructure " + infrastructure_name, infrastructure(*comparison.run)}}};
}

Table settings_table(const Comparison& comparison) {
  const auto line = [](const Cell& cell) {
    return with(identity(cell), {fmt::format("{}", batch_per_device(cell.trial())),
                                 fmt::format("{:.6g}\n({})", learning_rate_of(*cell.first), rate_rule_of(*cell.first)),
                                 in_two(with_range(cell.train_accuracy, accuracy_text)), in_two(with_range(cell.seconds_total, seconds_text))});
  };
  return {"Settings and totals",
          "Learning rate: after the batch rule and the warm-up. Training accuracy: on the batches of the last epoch, before each update. Total "
          "time: set-up, warm-up, training, evaluation and checkpoints.",
          {"strategy", "devices", "global batch", "batch per device", "learning rate", "training accuracy", "total time"},
          2,
          lines_of(comparison, line)};
}

Table clock_table(const Comparison& comparison) {
  const auto line = [](const Cell& cell) {
    const Result& result = cell.done.front()->result;
    return with(identity(cell), {seconds_text(total_seconds(result)), seconds_text(result.seconds_training), seconds_text(result.seconds_setup),
                                 seconds_text(result.seconds_warm_up), seconds_text(result.seconds_evaluation),
                                 seconds_text(result.seconds_checkpoint), seconds_text(result.seconds_other_threads)});
  };
  return {"Beside the training",
          "The clocks of the first repeat; none overlaps another. Total: their sum. Other threads: processor time, during the training, of "
          "threads that are not ranks; it overlaps the training.",
          {"strategy", "devices", "global batch", "total", "training", "set-up", "warm-up", "evaluation", "checkpoint", "other threads"},
          2,
          lines_of(comparison, line)};
}

}  // namespace mgcompare
