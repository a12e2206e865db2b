#include "reports/json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/comparison.h"

namespace mgcompare {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json spread(const Spread& spread) {
  if (spread.count == 0) return nullptr;
  return {{"median", number(spread.median)},
          {"least", number(spread.least)},
          {"most", number(spread.most)},
          {"low", number(spread.low)},
          {"high", number(spread.high)},
          {"count", spread.count}};
}

// The same text when it is JSON, else the text as a string.
Json embedded(const std::string& text) {
  Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_discarded() ? Json(text) : parsed;
}

Json row_json(const Row& row) {
  // The whole config stands once in the file; of a variant's only the name.
  const Json trial = without_config(row.trial);
  Json json = {{"position", row.position},
               {"state", row.state},
               {"attempt", row.attempt},
               {"row", row_name(row.trial)},
               {"precision", precision_of(row.trial)},
               {"trial", trial}};
  if (row.sequence > 0) json["sequence"] = row.sequence;
  if (!row.started.empty()) json["started"] = row.started;
  if (!row.finished.empty()) json["finished"] = row.finished;
  if (row.state == "finished") json["result"] = nlohmann::json(row.result);
  return json;
}

Json cell_json(const Comparison& comparison, const Cell& cell) {
  Json json = {{"row", cell.name},
               {"done", cell.done.size()},
               {"failed", cell.failed.size()},
               {"missing", cell.missing},
               {"brackets", cell.brackets.size()},
               {"separate_models", cell.many_models ? cell.trial().ranks() : 1},
               {"accuracy", spread(cell.accuracy)},
               {"samples_per_second", spread(cell.samples_per_second)},
               {"window_spread", spread(cell.window_spread)},
               {"window_drift", spread(cell.window_drift)},
               {"seconds_per_epoch", spread(cell.seconds_per_epoch)},
               {"seconds_to_target", spread(cell.seconds_to_target)},
               {"reached_target", cell.reached_target},
               {"bytes_per_step", spread(cell.bytes_per_step)},
               {"compared_with", cell.baseline ? Json(comparison.cells[*cell.baseline].name) : Json()},
               {"speed_up", spread(cell.speed_up)},
               {"efficiency", spread(cell.efficiency)}};
  const Breakdown& parts = cell.breakdown;
  const double step = parts.exists() ? parts.sum() : 1;
  json["shares"] = {{"compute", parts.compute / step},   {"optimizer", parts.optimizer / step},
                    {"exchange", parts.exchange / step}, {"input", parts.input / step},
                    {"waiting", parts.waiting / step},   {"harness", parts.host / step}};
  json["breakdown_reliable"] = parts.reliable();
  return json;
}

}  // namespace

std::string json_report(const Run& run) {
  const Comparison comparison = compare_rows(run);
  const RunInfo& info = run.info;
  Json environment = Json::array();
  for (const auto& [key, value] : info.environment) environment.push_back({{"key", key}, {"value", value}});
  Json json = {{"schema", info.schema},
               {"program_version", info.program_version},
               {"name", info.name},
               {"started", info.started}};
  json["data"] = {{"name", info.data_name}, {"origin", info.data_origin}, {"sha256", info.data_fingerprint}};
  json["config_sha256"] = info.config_hash;
  json["config"] = embedded(info.config_json);
  json["environment"] = environment;
  json["warnings"] = info.warnings;
  json["tainted"] = info.taints;
  json["links"] = nlohmann::json(info.links);
  json["target_accuracy"] = comparison.target_accuracy > 0 ? Json(comparison.target_accuracy) : Json();
  // A line a trial and a row: a tree of all of them would take more memory than everything else together.
  std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace);
  text.erase(text.rfind("\n}"));
  const auto add_list = [&](const char* name, const auto& items, const auto& item_json) {
    text += fmt::format(",\n  \"{}\": [", name);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string line = item_json(items[i]).dump(-1, ' ', false, Json::error_handler_t::replace);
      if (i == 0) text.reserve(text.size() + items.size() * (line.size() + 8));  // growing by halves needs twice the memory
      text += i == 0 ? "\n    " : ",\n    ";
      text += line;
    }
    text += "\n  ]";
  };
  add_list("trials", run.rows, row_json);
  add_list("rows", comparison.cells, [&](const Cell& cell) { return cell_json(comparison, cell); });
  text += "\n}\n";
  return text;
}

}  // namespace mgcompare
