#include "reports/json.h"

#include <fmt/format.h>

#include <cmath>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "reports/cost.h"
#include "reports/framework_json.h"
#include "reports/json_number.h"
#include "reports/learning_rate.h"

namespace mgcompare {
namespace {

using Json = nlohmann::ordered_json;

Json spread(const Spread& spread) {
  if (spread.count == 0) return nullptr;
  return {{"median", json_number(spread.median)},
          {"least", json_number(spread.least)},
          {"most", json_number(spread.most)},
          {"low", json_number(spread.low)},
          {"high", json_number(spread.high)},
          {"count", spread.count}};
}

// The parsed text if it is JSON, else the text as a string.
Json embedded(const std::string& text) {
  Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_discarded() ? Json(text) : parsed;
}

std::string text_of(const auto& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json check_json(const PromiseCheck& check) {
  Json json = {{"state", to_string(check.state)}};
  if (check.state == PromiseState::broken)
    json.update({{"epoch", check.epoch}, {"what", check.what}, {"departure", check.departure}, {"bound", check.bound}});
  if (check.state == PromiseState::unchecked) json["why"] = check.what;
  return json;
}

Json marks_json(const std::vector<Mark>& marks) {
  Json json = Json::array();
  for (const Mark& mark : marks) json.push_back(mark.text);
  return json;
}

// As it is stored, but without the zeros of a trial that has no figures.
std::string result_text(const Result& result) {
  if (has_figures(result)) {
    std::string text = json_text(result);
    // Of a target that was not reached. Parsing the text would take most of the time of a large report.
    constexpr std::string_view kNone = "\"seconds_to_target\":0.0,";
    if (const std::size_t at = result.seconds_to_target > 0 ? std::string::npos : text.find(kNone); at != std::string::npos)
      text.replace(at, kNone.size(), "\"seconds_to_target\":null,");
    return text;
  }
  Json json = Json::parse(json_text(result));
  for (Json& value : json)
    if (value.is_number() && value == 0) value = nullptr;
  return text_of(json);
}

// Assembled from texts, which is faster than copying the JSON trees of the parts.
std::string row_text(const Row& row, const PromiseChecks& promises) {
  const Json first = {{"position", row.position},
                      {"state", to_string(row.state)},
                      {"attempt", row.attempt},
                      {"row", row_name(row.trial)},
                      {"model", row.config->model.name},
                      {"framework", framework_of(row)},
                      {"batch_per_device", batch_per_device(row.trial)},
                      {"learning_rate", json_number(learning_rate_of(row))},
                      {"learning_rate_rule", rate_rule_of(row)},
                      {"precision", to_string(precision_of(*row.config, row.trial.device_kind))}};
  std::string text = text_of(first);
  text.pop_back();
  const auto add = [&](const char* key, const std::string& value) { text += fmt::format(",\"{}\":{}", key, value); };
  // The config is once in the file; of a variant only the name.
  add("trial", text_of(nlohmann::json(row.trial)));
  if (row.sequence > 0) add("sequence", fmt::format("{}", row.sequence));
  if (!row.started.empty()) add("started", text_of(Json(row.started)));
  if (!row.finished.empty()) add("finished", text_of(Json(row.finished)));
  if (row.state == RowState::finished) {
    const PromiseCheck check = promises.of(row);
    if (check.state != PromiseState::none) add("promise_check", text_of(check_json(check)));
    add("marks", text_of(marks_json(marks_of(row, check))));
    add("result", result_text(row.result));
  }
  return text += '}';
}

Json cell_json(const Comparison& comparison, const Cell& cell, bool is_cheapest) {
  Json json = {{"row", cell.name},
               {"model", cell.first->config->model.name},
               {"framework", cell.framework},
               {"batch_per_device", batch_per_device(cell.trial())},
               {"learning_rate", json_number(learning_rate_of(*cell.first))},
               {"learning_rate_rule", rate_rule_of(*cell.first)},
               {"done", cell.done.size()},
               {"failed", cell.failed.size()},
               {"missing", cell.missing},
               {"brackets", cell.brackets.size()},
               {"marks", marks_json(cell.marks)},
               {"promise_check", cell.promise.state == PromiseState::none ? Json() : check_json(cell.promise)},
               {"separate_models", cell.many_models ? cell.trial().ranks() : 1},
               {"accuracy", spread(cell.accuracy)},
               {"train_accuracy", spread(cell.train_accuracy)},
               {"seconds_total", spread(cell.seconds_total)},
               {"samples_per_second", spread(cell.samples_per_second)},
               {"window_spread", spread(cell.window_spread)},
               {"window_drift", spread(cell.window_drift)},
               {"seconds_per_epoch", spread(cell.seconds_per_epoch)},
               {"seconds_to_target", spread(cell.seconds_to_target)},
               {"reached_target", cell.reached_target},
               {"cost", spread(cost_of(comparison, cell))},
               {"cheapest", is_cheapest},
               {"bytes_per_step", spread(cell.bytes_per_step)},
               {"compared_with", cell.baseline ? Json(comparison.cells[*cell.baseline].name) : Json()},
               {"speed_up", spread(cell.speed_up)},
               {"efficiency", spread(cell.efficiency)}};
  const Breakdown& parts = cell.breakdown;
  const double step = parts.exists() ? parts.sum() : 1;
  const auto if_seen = [&](double part) { return parts.has(cell.trial().device_kind) ? Json(part / step) : Json(); };
  json["shares"] = {{"compute", parts.compute / step},
                    {"optimizer", if_seen(parts.optimizer)},
                    {"exchange", parts.exchange / step},
                    {"input", if_seen(parts.input)},
                    {"waiting", parts.waiting / step},
                    {"strategy", parts.is_inferred ? Json() : Json(parts.strategy / step)},
                    {"harness", parts.host / step}};
  json["parts_over_training_clock"] = parts.exists() ? Json(parts.worst) : Json();
  json["breakdown_reliable"] = parts.reliable();
  return json;
}

}  // namespace

// The document of one run, of which the `parts` are the networks.
static void write_run(std::span<const Comparison> parts, const std::function<void(std::string_view)>& write) {
  const Run& run = *parts.front().run;
  double target_accuracy = 0;
  for (const Comparison& part : parts) target_accuracy = std::max(target_accuracy, part.target_accuracy);
  const RunInfo& info = run.info;
  Json environment = Json::array();
  for (const auto& [key, value] : info.environment) environment.push_back({{"key", key}, {"value", value}});
  Json json = {{"schema", info.schema},
               {"program_version", info.program_version},
               {"name", info.name},
               {"started", info.started}};
  if (!parts.front().infrastructure.empty()) json["infrastructure"] = parts.front().infrastructure;
  json["data"] = {{"name", info.data_name}, {"origin", info.data_origin}, {"sha256", info.data_fingerprint}, {"remark", info.data_remark}};
  json["arguments"] = info.arguments ? Json(*info.arguments) : Json();
  json["config_sha256"] = info.config_hash;
  json["config"] = embedded(info.config_json);
  json["environment"] = environment;
  json["warnings"] = info.warnings;
  json["tainted"] = info.taints;
  if (const std::vector<Framework> frameworks = frameworks_of(run); !frameworks.empty()) json["frameworks"] = frameworks_json(frameworks);
  if (Json by_framework = by_framework_json(parts); !by_framework.empty()) json["by_framework"] = std::move(by_framework);
  json["links"] = nlohmann::json(info.links);
  json["target_accuracy"] = target_accuracy > 0 ? Json(target_accuracy) : Json();
  const double price = parts.front().price_per_device_hour;
  json["price_per_device_hour"] = price > 0 ? Json(price) : Json();
  std::string head = text_of(json, 2);
  head.erase(head.rfind("\n}"));
  write(head);
  // One line for each trial and each row.
  const char* separator = "";
  const auto begin_list = [&](const char* name) {
    write(fmt::format(",\n  \"{}\": [", name));
    separator = "\n    ";
  };
  const auto add_line = [&](const std::string& line) {
    write(separator);
    write(line);
    separator = ",\n    ";
  };
  begin_list("trials");
  for (const Row& row : run.rows) add_line(row_text(row, parts.front().promises));
  write("\n  ]");
  begin_list("rows");
  for (const Comparison& part : parts) {
    const std::vector<const Cell*> cheapest = cheapest_rows(part);
    for (const Cell& cell : part.cells) add_line(text_of(cell_json(part, cell, !cheapest.empty() && cheapest.front() == &cell)));
  }
  write("\n  ]\n}\n");
}

void json_report(const Overview& overview, const std::function<void(std::string_view)>& write) {
  const std::span<const Comparison> parts = overview.parts;
  if (!overview.has_runs()) return write_run(parts, write);
  write(fmt::format("{{\n\"warnings\": {},\n\"runs\": [\n", text_of(Json(overview.warnings))));
  for (std::size_t begin = 0; begin < parts.size();) {
    std::size_t end = begin;
    while (end < parts.size() && parts[end].run == parts[begin].run) ++end;
    if (begin > 0) write(",\n");
    write_run(parts.subspan(begin, end - begin), write);
    begin = end;
  }
  write("]\n}\n");
}

}  // namespace mgcompare
