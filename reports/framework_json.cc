#include "reports/framework_json.h"

#include "reports/frameworks.h"
#include "reports/infrastructure.h"
#include "reports/json_number.h"

namespace mgcompare {
namespace {

using Json = nlohmann::ordered_json;

Json ratio_json(const Spread& ratio) {
  if (ratio.count == 0) return nullptr;
  return {{"median", json_number(ratio.median)}, {"low", json_number(ratio.low)}, {"high", json_number(ratio.high)}, {"count", ratio.count}};
}

Json name_of(const Cell* cell) { return cell == nullptr ? Json() : Json(cell->name); }

Json step_of(const Cell* cell) { return cell == nullptr ? Json() : json_number(cell->step_seconds.median); }

const char* reason_text(StepReason reason) {
  constexpr const char* kWords[] = {"unknown", "undecided", "by_step", "not_by_step"};
  return kWords[static_cast<int>(reason)];
}

void add_places(const Comparison& part, Json& all) {
  for (const FrameworkPlace& place : framework_places(part)) {
    const FrameworkRows& own = place.frameworks.front();
    for (const FrameworkRows& rows : place.frameworks) {
      Json json = {{"model", network_of(part)}, {"place", place.title}, {"framework", rows.name}, {"several", name_of(rows.several)},
                   {"one", name_of(rows.one)}, {"ratio", ratio_json(rows.ratio)}, {"step_seconds_one", step_of(rows.one)}};
      if (own.is_own && !rows.is_own) json["against_here"] = reason_text(step_effect(own, rows).reason);
      all.push_back(std::move(json));
    }
  }
}

void add_pairs(const Comparison& part, Json& all) {
  for (const LikePair& pair : like_pairs(part))
    all.push_back({{"model", network_of(part)}, {"framework", pair.cell->framework}, {"row", pair.cell->name}, {"row_here", pair.own->name},
                   {"ratio", ratio_json(pair.ratio)}, {"order", order_text(pair.order)}});
}

void add_coincidences(const Comparison& part, Json& all) {
  for (const Coincidence& pair : framework_coincidences(part)) {
    Json epochs = Json::array();
    for (const EpochDifference& epoch : pair.epochs)
      epochs.push_back({{"epoch", epoch.epoch}, {"difference", json_number(epoch.difference)}, {"bound", json_number(epoch.bound)}});
    all.push_back({{"model", network_of(part)}, {"framework", pair.one->framework}, {"row", pair.one->name}, {"row_here", pair.other->name},
                   {"coincides", pair.coincides()}, {"epochs", epochs}});
  }
}

}  // namespace

Json frameworks_json(const std::vector<Framework>& frameworks) {
  Json all = Json::array();
  for (const Framework& framework : frameworks) {
    Json versions = Json::object();
    for (const auto& [name, version] : framework.versions) versions[name] = version;
    all.push_back({{"name", framework.name}, {"version", framework.version.empty() ? Json() : Json(framework.version)}, {"versions", versions}});
  }
  return all;
}

Json by_framework_json(std::span<const Comparison> parts) {
  Json several = Json::array(), strategies = Json::array(), accuracy = Json::array();
  bool has_any = false;
  for (const Comparison& part : parts) {
    has_any |= part.has_frameworks();
    add_places(part, several);
    add_pairs(part, strategies);
    add_coincidences(part, accuracy);
  }
  if (!has_any) return Json::object();
  return {{"several_over_one", several}, {"equal_strategies", strategies}, {"accuracy", accuracy}};
}

}  // namespace mgcompare
