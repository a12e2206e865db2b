#include "reports/host_prediction.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/median.h"
#include "config/config_difference.h"
#include "config/config_tree.h"
#include "config/problem.h"
#include "mgcompare/error.h"
#include "reports/exchange.h"
#include "reports/findings.h"
#include "reports/text.h"
#include "reports/work.h"

namespace mgcompare {
namespace {

bool is_same_row(const Cell& cell, const Cell& other) {
  const TrialKey &one = cell.trial(), &two = other.trial();
  return cell.series == other.series && one.device_kind == two.device_kind && one.scaling == two.scaling && one.global_batch == two.global_batch &&
         one.ranks_per_device == two.ranks_per_device && one.variant == two.variant && one.network == two.network;
}

const Cell* find(const Comparison& comparison, const Cell& like, std::size_t devices, std::size_t hosts) {
  for (const Cell& cell : comparison.cells)
    if (!cell.done.empty() && is_same_row(cell, like) && cell.trial().devices == devices && cell.trial().hosts == hosts) return &cell;
  return nullptr;
}

void expect_parts(const Cell& cell) {
  if (!cell.breakdown.reliable()) throw Error("the parts of its steps are not known, or do not sum to the step time within 2 %");
}

// Of an all-reduce a rank sends 2 (n - 1) / n of the data. Other exchanges are taken to send as much whatever their number of partners is.
double bytes_between(const Cell& row, std::size_t hosts) {
  const auto share = [](std::size_t count) { return 2 * (static_cast<double>(count) - 1) / static_cast<double>(count); };
  return row.bytes_per_step.median * (only_reduces(row) ? share(hosts) / share(row.trial().devices) : 1);
}

double seconds_between(const Cell& row, std::size_t hosts, const LinkModel& link) {
  const double bytes = bytes_between(row, hosts), calls = calls_per_step(row);
  return bytes > 0 && calls > 0 ? calls * link.seconds(hosts, bytes / calls) : 0;
}

double seconds_within(const Comparison& comparison, const Cell& row, std::size_t devices) {
  if (devices < 2) return 0;
  const Cell* const within = find(comparison, row, devices, 1);
  if (within == nullptr) throw Error(fmt::format("there is no row on {} devices, as each host would have", devices));
  expect_parts(*within);
  return within->breakdown.exchange;
}

void fill(HostPrediction& prediction, const Comparison& comparison, std::size_t hosts, const LinkModel& link) {
  const Cell& row = *prediction.row;
  if (row.is_disqualified()) throw Error(fmt::format("its row is marked: {}", marks_text(row.marks)));
  if (row.runs_freely) throw Error("its ranks run in free pace, which this model does not describe");
  expect_parts(row);
  const Cell& alone = comparison.cells[*row.baseline];
  prediction.exchange = seconds_between(row, hosts, link);
  prediction.step = own_seconds(row) + row.breakdown.waiting + seconds_within(comparison, row, row.trial().devices / hosts) + prediction.exchange;
  const auto rate = [](const Cell& cell, double step) { return static_cast<double>(cell.trial().global_batch) / step; };
  prediction.speed_up = rate(row, prediction.step) / rate(alone, alone.breakdown.step);
}

bool has_validation_file(const Cell& cell) {
  const DataConfig& data = cell.first->config->data;
  return !data.validation.empty() && !validation_share(data);
}

// The settings that decide how long a step takes, and differ between the configs of two rows.
std::vector<std::string> differing_settings_of(const Cell& one, const Cell& other) {
  constexpr std::string_view kOfAStep[] = {"layers", "data", "optimizer", "numerics", "batch_norm"};
  // Files may be elsewhere; their contents are compared by their fingerprint.
  std::vector<std::string> keys = differing_keys(nlohmann::json(*one.first->config).dump(), nlohmann::json(*other.first->config).dump());
  std::erase_if(keys, [&](const std::string& key) {
    if (key == "data.path" || (key == "data.validation" && has_validation_file(one) && has_validation_file(other))) return true;
    return std::find(std::begin(kOfAStep), std::end(kOfAStep), std::string_view(key).substr(0, key.find('.'))) == std::end(kOfAStep);
  });
  return keys;
}

std::string data_of(const Comparison& comparison) { return comparison.run == nullptr ? "" : comparison.run->info.data_fingerprint; }

// Fills in the measured speed-up, or why there is none.
void measure(HostPrediction& prediction, const Comparison& one_host, std::size_t hosts, const Comparison& measured) {
  const auto fill_in = [&] {
    const Cell* const known = find(measured, *prediction.row, prediction.row->trial().devices, hosts);
    if (known == nullptr) throw Error(fmt::format("the measured run has no such row on {} hosts", hosts));
    if (const auto keys = differing_settings_of(*prediction.row, *known); !keys.empty())
      throw Error(fmt::format("its row in the measured run has another config (different: {})", listed(keys, 8)));
    if (data_of(one_host) != data_of(measured)) throw Error("the measured run was trained on other data");
    if (known->is_disqualified()) throw Error(fmt::format("its row in the measured run is marked: {}", marks_text(known->marks)));
    if (!known->baseline || known->speed_up.count == 0) throw Error("its row in the measured run has no baseline on one device");
    if (const Cell& alone = measured.cells[*known->baseline]; alone.is_disqualified())
      throw Error(fmt::format("its baseline in the measured run is marked: {}", marks_text(alone.marks)));
    prediction.measured = known->speed_up.median;
  };
  try {
    fill_in();
  } catch (const Error& reason) {
    prediction.unmeasured = reason.what();
  }
}

double error_of(const HostPrediction& prediction) { return prediction.speed_up / *prediction.measured - 1; }

}  // namespace

std::vector<HostPrediction> predict_hosts(const Comparison& one_host, std::size_t hosts, const LinkModel& link, const Comparison* measured) {
  std::vector<HostPrediction> all;
  for (const Cell& row : one_host.cells) {
    const TrialKey& trial = row.trial();
    if (row.done.empty() || trial.hosts > 1 || trial.devices < hosts || trial.devices % hosts != 0 || row.is_ceiling || !row.baseline)
      continue;
    HostPrediction prediction;
    prediction.row = &row;
    try {
      fill(prediction, one_host, hosts, link);
    } catch (const Error& error) {
      prediction.problem = error.what();
    }
    if (measured != nullptr && prediction.problem.empty()) measure(prediction, one_host, hosts, *measured);
    all.push_back(std::move(prediction));
  }
  return all;
}

Table host_prediction_table(const std::vector<HostPrediction>& predictions, std::size_t hosts, const LinkModel& link) {
  Table table{fmt::format("Prediction for {} hosts", hosts),
              fmt::format("Step time and speed-up against one device, if the exchange of each row went over {} ({} per message, {}/s) between the hosts. "
                          "Measured: the speed-up of that row in the run on several hosts, and the error of the prediction.",
                          link.name, seconds_text(link.latency), bytes_text(link.bandwidth)),
              {"strategy", "batch", "devices", "step", "of it between hosts", "speed-up", "measured", "error"},
              2,
              {},
              {}};
  for (const HostPrediction& prediction : predictions) {
    if (!prediction.problem.empty()) continue;
    const TrialKey& trial = prediction.row->trial();
    table.lines.push_back({prediction.row->series, count_text(static_cast<double>(trial.global_batch)),
                           fmt::format("{}:{}x{}", to_string(trial.device_kind), hosts, trial.devices / hosts), seconds_text(prediction.step),
                           percent_text(prediction.exchange / prediction.step), fmt::format("{:.3g}", prediction.speed_up),
                           prediction.measured ? fmt::format("{:.3g}", *prediction.measured) : "-",
                           prediction.measured ? fmt::format("{:+.0f} %", 100 * error_of(prediction)) : "-"});
  }
  return table;
}

std::vector<std::string> host_prediction_problems(const std::vector<HostPrediction>& predictions) {
  std::vector<std::string> sentences;
  for (const auto& [what, field] : {std::pair("prediction", &HostPrediction::problem), std::pair("measured figure", &HostPrediction::unmeasured)}) {
    std::map<std::string, std::vector<const HostPrediction*>> by_reason;
    for (const HostPrediction& prediction : predictions)
      if (!(prediction.*field).empty()) by_reason[prediction.*field].push_back(&prediction);
    for (const auto& [reason, some] : by_reason) {
      const std::string more = some.size() == 1 ? "" : fmt::format(" and {} more row{}", some.size() - 1, some.size() == 2 ? "" : "s");
      sentences.push_back(fmt::format("No {} for {}{}: {}.", what, title_of(*some.front()->row), more, reason));
    }
  }
  return sentences;
}

std::optional<std::string> host_prediction_errors(const std::vector<HostPrediction>& predictions) {
  std::vector<double> errors;
  for (const HostPrediction& prediction : predictions)
    if (prediction.problem.empty() && prediction.measured) errors.push_back(std::abs(error_of(prediction)));
  if (errors.empty()) return std::nullopt;
  return fmt::format("Error of {} predictions against the measured rows: median {}, largest {}.", errors.size(), percent_text(median(errors)),
                     percent_text(*std::max_element(errors.begin(), errors.end())));
}

}  // namespace mgcompare
