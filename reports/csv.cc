#include "reports/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <functional>
#include <vector>

#include "reports/cost.h"
#include "reports/framework.h"
#include "reports/learning_rate.h"
#include "reports/marks.h"
#include "reports/steadiness.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

// Older versions counted neither exclusive sections nor shared objects.
bool counts_calls(const Row& row) { return !std::isnan(row.result.seconds_other_threads); }

// The sum over the epochs of a clock that only backends have.
std::string of_backend(const Row& row, double EpochResult::*clock) {
  if (is_own(row)) return "";
  double sum = 0;
  for (const EpochResult& epoch : row.result.epochs) sum += epoch.*clock;
  return number(sum);
}

// "cuda 12.6; python 3.11.2"
std::string all_versions(const Row& row) {
  std::string text;
  for (const auto& [name, version] : row.result.versions) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", name, version);
  return text;
}

// A column of the trial, or of its result; the latter is empty until the trial has finished.
struct Column {
  const char* name;
  std::function<std::string(const Row&, const PromiseCheck&)> text;
  bool of_result = true;
  bool counts = false;              // 0 is a figure, also of a trial that has no others
};

const std::vector<Column>& columns() {
  static const std::vector<Column> all = {
      {"trial", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.trial.number); }, false},
      {"position", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.position); }, false},
      {"sequence", [](const Row& r, const PromiseCheck&) { return r.sequence == 0 ? "" : fmt::format("{}", r.sequence); }, false},
      {"state", [](const Row& r, const PromiseCheck&) { return std::string(to_string(r.state)); }, false},
      {"attempt", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.attempt); }, false},
      {"row", [](const Row& r, const PromiseCheck&) { return csv_field(row_name(r.trial)); }, false},
      {"strategy", [](const Row& r, const PromiseCheck&) { return csv_field(r.trial.strategy.name); }, false},
      {"label", [](const Row& r, const PromiseCheck&) { return csv_field(r.trial.strategy.label); }, false},
      {"variant", [](const Row& r, const PromiseCheck&) { return csv_field(r.trial.variant); }, false},
      {"framework", [](const Row& r, const PromiseCheck&) { return csv_field(framework_of(r)); }, false},
      {"model", [](const Row& r, const PromiseCheck&) { return csv_field(r.config->model.name); }, false},
      {"device_kind", [](const Row& r, const PromiseCheck&) { return std::string(to_string(r.trial.device_kind)); }, false},
      {"devices", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.trial.devices); }, false},
      {"device_ids", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", fmt::join(r.trial.ids, "+")); }, false},
      {"hosts", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.trial.hosts); }, false},
      {"ranks_per_device", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.trial.ranks_per_device); }, false},
      {"scaling", [](const Row& r, const PromiseCheck&) { return csv_field(to_string(r.trial.scaling)); }, false},
      {"global_batch", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.trial.global_batch); }, false},
      {"batch_per_device", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", batch_per_device(r.trial)); }, false},
      {"learning_rate", [](const Row& r, const PromiseCheck&) { return number(learning_rate_of(r)); }, false},
      {"learning_rate_rule", [](const Row& r, const PromiseCheck&) { return csv_field(rate_rule_of(r)); }, false},
      {"precision", [](const Row& r, const PromiseCheck&) { return csv_field(to_string(precision_of(*r.config, r.trial.device_kind))); }, false},
      {"seed", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.trial.seed); }, false},
      {"bracket", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.trial.bracket); }, false},
      {"control", [](const Row& r, const PromiseCheck&) { return r.trial.control ? "1" : "0"; }, false},
      {"reference", [](const Row& r, const PromiseCheck&) { return r.trial.reference ? "1" : "0"; }, false},
      {"rehearsal", [](const Row& r, const PromiseCheck&) { return r.trial.rehearsal ? "1" : "0"; }, false},
      {"framework_version", [](const Row& r, const PromiseCheck&) { return csv_field(r.result.framework_version); }},
      {"framework_versions", [](const Row& r, const PromiseCheck&) { return csv_field(all_versions(r)); }},
      {"like", [](const Row& r, const PromiseCheck&) { return csv_field(r.result.like); }},
      {"status", [](const Row& r, const PromiseCheck&) { return std::string(to_string(r.result.status)); }},
      {"cause", [](const Row& r, const PromiseCheck&) { return csv_field(r.result.cause); }},
      {"epochs", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.result.epochs.size()); }, true, true},
      {"accuracy", [](const Row& r, const PromiseCheck&) { return number(r.result.accuracy); }},
      {"accuracy_spread", [](const Row& r, const PromiseCheck&) { return number(r.result.accuracy_spread); }},
      {"test_loss", [](const Row& r, const PromiseCheck&) { return r.result.epochs.empty() ? "" : number(r.result.epochs.back().test_loss); }},
      {"train_accuracy", [](const Row& r, const PromiseCheck&) { return r.result.epochs.empty() ? "" : number(r.result.epochs.back().train_accuracy); }},
      {"seconds_to_target",
       [](const Row& r, const PromiseCheck&) { return r.result.seconds_to_target > 0 ? number(r.result.seconds_to_target) : ""; }},
      {"samples_per_second", [](const Row& r, const PromiseCheck&) { return number(r.result.samples_per_second); }},
      {"windows", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.result.windows.size()); }},
      {"window_spread",
       [](const Row& r, const PromiseCheck&) {
         const auto steadiness = steadiness_of(r.result);
         return steadiness ? number(steadiness->spread) : "";
       }},
      {"window_drift",
       [](const Row& r, const PromiseCheck&) {
         const auto steadiness = steadiness_of(r.result);
         return steadiness ? number(steadiness->drift) : "";
       }},
      {"step_seconds_median", [](const Row& r, const PromiseCheck&) { return number(r.result.step_seconds_median); }},
      {"seconds_worker_start", [](const Row& r, const PromiseCheck&) { return number(r.result.seconds_worker_start); }},
      {"seconds_setup", [](const Row& r, const PromiseCheck&) { return number(r.result.seconds_setup); }},
      {"seconds_warm_up", [](const Row& r, const PromiseCheck&) { return number(r.result.seconds_warm_up); }},
      {"seconds_training", [](const Row& r, const PromiseCheck&) { return number(r.result.seconds_training); }},
      {"seconds_reported", [](const Row& r, const PromiseCheck&) { return of_backend(r, &EpochResult::seconds_reported); }},
      {"seconds_unclocked", [](const Row& r, const PromiseCheck&) { return of_backend(r, &EpochResult::seconds_unclocked); }},
      {"seconds_evaluation", [](const Row& r, const PromiseCheck&) { return number(r.result.seconds_evaluation); }},
      {"seconds_checkpoint", [](const Row& r, const PromiseCheck&) { return number(r.result.seconds_checkpoint); }},
      {"seconds_total", [](const Row& r, const PromiseCheck&) { return number(total_seconds(r.result)); }},
      {"harness_share", [](const Row& r, const PromiseCheck&) { return number(r.result.harness_share); }},
      {"samples", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.result.samples); }},
      {"samples_evaluated", [](const Row& r, const PromiseCheck&) { return r.result.samples_evaluated == 0 ? "" : fmt::format("{}", r.result.samples_evaluated); }},
      {"steps", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.result.steps); }},
      {"updates", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.result.updates); }},
      {"bytes_per_step", [](const Row& r, const PromiseCheck&) { return number(r.result.bytes_per_step); }},
      {"seconds_other_threads", [](const Row& r, const PromiseCheck&) { return number(r.result.seconds_other_threads); }},
      {"exclusive_sections", [](const Row& r, const PromiseCheck&) { return counts_calls(r) ? fmt::format("{}", r.result.exclusive_sections) : ""; }},
      {"shared_bytes", [](const Row& r, const PromiseCheck&) { return counts_calls(r) ? number(shared_bytes(r.result)) : ""; }},
      {"promise",
       [](const Row& r, const PromiseCheck&) {
         const auto promise = r.result.traits.find("promise");
         return promise == r.result.traits.end() ? "" : csv_field(promise->second);
       }},
      {"promise_check", [](const Row&, const PromiseCheck& check) { return std::string(to_string(check.state)); }},
      {"promise_broken_epoch",
       [](const Row&, const PromiseCheck& check) {
         return check.state == PromiseState::broken ? fmt::format("{}", check.epoch) : "";
       }},
      {"marks", [](const Row& r, const PromiseCheck& check) { return csv_field(marks_text(marks_of(r, check))); }},
      {"fitting_batch", [](const Row& r, const PromiseCheck&) { return r.result.fitting_batch == 0 ? "" : fmt::format("{}", r.result.fitting_batch); }},
      {"peak_memory_bytes", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.result.peak_memory); }},
      {"parameters", [](const Row& r, const PromiseCheck&) { return fmt::format("{}", r.result.parameters); }},
      {"weights_hash", [](const Row& r, const PromiseCheck&) { return csv_field(r.result.weights_hash); }},
  };
  return all;
}

}  // namespace

// The costs of the trial, which need the price of the report.
static std::string costs_of(const Row& row, double price) {
  if (!(price > 0)) return ",,";
  const bool is_done = row.is_done();
  return fmt::format("{},{},{}", number(price), is_done ? number(cost_of_training(row, price)) : "",
                     is_done ? number(cost_to_target(row, price)) : "");
}

static void add_lines(const Run& run, double price, const std::string& before, std::string& text) {
  const PromiseChecks promises(run);
  const std::string data = fmt::format(",{},{}", csv_field(run.info.data_name), csv_field(run.info.data_remark));
  for (const Row& row : run.rows) {
    const PromiseCheck check = promises.of(row);
    text += before;
    bool first = true;
    for (const Column& column : columns()) {
      if (!first) text += ',';
      first = false;
      if (column.of_result && row.state != RowState::finished) continue;
      const std::string value = column.text(row, check);
      if (!column.of_result || column.counts || value != "0" || has_figures(row.result)) text += value;
    }
    text += "," + costs_of(row, price) + data + "\r\n";
  }
}

std::string csv_report(const Overview& overview) {
  const bool has_runs = overview.has_runs();
  std::string text = has_runs ? "infrastructure,run" : "";
  for (const Column& column : columns()) text += fmt::format("{}{}", text.empty() ? "" : ",", column.name);
  text += ",price_per_device_hour,cost,cost_to_target,data,data_remark\r\n";
  for (const Comparison* part : overview.runs())
    add_lines(*part->run, part->price_per_device_hour, has_runs ? fmt::format("{},{},", csv_field(part->infrastructure), csv_field(part->run->directory)) : "",
              text);
  return text;
}

std::string csv_report(const Run& run) { return csv_report(overview_of(run)); }

}  // namespace mgcompare
