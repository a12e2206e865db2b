#include <nlohmann/json.hpp>

#include "reports/json_number.h"
#include "reports/regression.h"

namespace mgcompare {
namespace {

using Json = nlohmann::ordered_json;

Json interval(const Spread& spread) {
  if (spread.count == 0) return nullptr;
  return {{"median", json_number(spread.median)}, {"low", json_number(spread.low)}, {"high", json_number(spread.high)},
          {"count", spread.count}};
}

Json figure(const Spread& before, const Spread& after, const FigureChange& change) {
  return {{"before", interval(before)}, {"after", interval(after)}, {"ratio", interval(change.ratio)},
          {"verdict", to_string(change.absolute)}};
}

Json own(const FigureChange& change) {
  return {{"before", interval(change.own_before)}, {"after", interval(change.own_after)}, {"ratio", interval(change.own_ratio)},
          {"verdict", to_string(change.own)}};
}

Json marks(const Cell& cell) {
  Json all = Json::array();
  for (const Mark& mark : cell.marks) all.push_back(mark.text);
  return all;
}

}  // namespace

std::string regression_json(const Regression& regression, const std::string& before, const std::string& after) {
  Json rows = Json::array();
  for (const RowChange& row : regression.rows) {
    rows.push_back({{"row", row.after->name},
                    {"row_before", row.before->name},
                    {"framework", row.after->framework},
                    {"framework_before", row.before->framework},
                    {"verdict", to_string(row.change)},
                    {"target_verdict", row.time.ratio.count > 0 ? Json(to_string(row.target_change)) : Json()},
                    {"decided_by", row.by_baseline ? "own_baseline" : "absolute"},
                    {"samples_per_second", figure(row.before->samples_per_second, row.after->samples_per_second, row.speed)},
                    {"speed_up", own(row.speed)},
                    {"seconds_to_target", figure(row.before->seconds_to_target, row.after->seconds_to_target, row.time)},
                    {"times_as_fast_to_target", own(row.time)},
                    {"marks_before", marks(*row.before)},
                    {"marks_after", marks(*row.after)}});
  }
  const Json json = {{"schema", "mgcompare.comparison/1"}, {"before", before}, {"after", after}, {"warnings", regression.warnings},
                     {"rows", rows}, {"only_before", regression.only_before}, {"only_after", regression.only_after}, {"lost", regression.lost}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace mgcompare
