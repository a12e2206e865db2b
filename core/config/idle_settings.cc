#include "config/idle_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "config/overrides.h"

namespace mgcompare {
namespace {

template <auto... kinds> bool optimizes(const Config& config) { return ((config.optimizer.kind == kinds) || ...); }
template <ScheduleKind kind> bool schedules(const Config& config) { return config.schedule.kind == kind; }

struct Setting {
  std::string_view name, choice;    // the choice decides whether it is used
  bool (*is_set)(const Config& config, const Config& usual);  // otherwise than by default
  bool (*is_used)(const Config& config);
  std::string_view user;            // what uses it
  std::string (*other)(const Config& config);  // what the config has in place of the user
};

std::string optimizer(const Config& config) { return std::string(to_string(config.optimizer.kind)); }
std::string schedule(const Config& config) { return fmt::format("a {} schedule", to_string(config.schedule.kind)); }
std::string batch_rule(const Config&) { return "`batch_rule: none`"; }

#define MGCOMPARE_IS_SET(field) [](const Config& config, const Config& usual) { return config.field != usual.field; }

const Setting kSettings[] = {
    {"optimizer.momentum", "optimizer.kind", MGCOMPARE_IS_SET(optimizer.momentum), optimizes<OptimizerKind::sgd>, "sgd", optimizer},
    {"optimizer.nesterov", "optimizer.kind", MGCOMPARE_IS_SET(optimizer.nesterov), optimizes<OptimizerKind::sgd>, "sgd", optimizer},
    {"optimizer.beta1", "optimizer.kind", MGCOMPARE_IS_SET(optimizer.beta1), optimizes<OptimizerKind::adam>, "adam", optimizer},
    {"optimizer.beta2", "optimizer.kind", MGCOMPARE_IS_SET(optimizer.beta2), optimizes<OptimizerKind::adam>, "adam", optimizer},
    {"optimizer.rho", "optimizer.kind", MGCOMPARE_IS_SET(optimizer.rho), optimizes<OptimizerKind::adadelta>, "adadelta", optimizer},
    {"optimizer.epsilon", "optimizer.kind", MGCOMPARE_IS_SET(optimizer.epsilon), optimizes<OptimizerKind::adam, OptimizerKind::adagrad, OptimizerKind::adadelta>,
     "adam, adagrad and adadelta", optimizer},
    {"schedule.at", "schedule.kind", MGCOMPARE_IS_SET(schedule.at), schedules<ScheduleKind::step>, "a step schedule", schedule},
    {"schedule.factor", "schedule.kind", MGCOMPARE_IS_SET(schedule.factor), schedules<ScheduleKind::step>, "a step schedule", schedule},
    {"schedule.final_rate", "schedule.kind", MGCOMPARE_IS_SET(schedule.final_rate), schedules<ScheduleKind::cosine>, "a cosine schedule", schedule},
    {"schedule.base_batch", "schedule.batch_rule", MGCOMPARE_IS_SET(schedule.base_batch), [](const Config& config) { return config.schedule.batch_rule != BatchRule::none; },
     "the other batch rules", batch_rule},
};

#undef MGCOMPARE_IS_SET

// Of steps of the learning rate that the training does not reach; otherwise empty.
std::string late_step_remark(const Config& config) {
  const std::vector<double>& at = config.schedule.at;
  if (!schedules<ScheduleKind::step>(config) || at.empty() || at.back() < static_cast<double>(config.epochs)) return "";
  std::vector<double> late;
  for (const double step : at)
    if (step >= static_cast<double>(config.epochs)) late.push_back(step);
  return fmt::format("`schedule.at` has {:g}, and the training ends after epoch {}: the learning rate is not changed there", fmt::join(late, ", "), config.epochs);
}

bool trains_alike(const Config& one, const Config& other) {
  nlohmann::json mine = one, its = other;
  for (nlohmann::json* const json : {&mine, &its}) json->erase("variants");
  return mine == its;
}

}  // namespace

std::vector<std::string> idle_setting_remarks(const Config& config, const std::vector<std::string>& overrides) {
  if (config.cut_down_for_cpu) return {};
  std::set<std::string, std::less<>> chosen;
  std::vector<Problem> ignored;
  for (const std::string& text : overrides)
    for (const Override& one : parse_override(text, ignored)) chosen.insert(one.name);
  std::vector<const Config*> all = {&config};
  for (const VariantConfig& variant : config.variants)
    if (variant.config != nullptr) all.push_back(variant.config.get());
  const Config usual;
  std::vector<std::string> remarks;
  for (const Setting& setting : kSettings) {
    const auto set = std::find_if(all.begin(), all.end(), [&](const Config* one) { return setting.is_set(*one, usual); });
    const bool is_used = std::any_of(all.begin(), all.end(), [&](const Config* one) { return setting.is_used(*one); });
    if (set != all.end() && !is_used && !chosen.contains(setting.choice))
      remarks.push_back(fmt::format("`{}` is for {}: with {} it changes nothing; remove it", setting.name, setting.user, setting.other(**set)));
  }
  if (const std::string remark = late_step_remark(config); !remark.empty()) remarks.push_back(remark);
  else
    for (const VariantConfig& variant : config.variants)
      if (const std::string own = variant.config == nullptr ? "" : late_step_remark(*variant.config); !own.empty())
        remarks.push_back(fmt::format("variant '{}': {}", variant.name, own));
  for (const VariantConfig& variant : config.variants)
    if (variant.config != nullptr && trains_alike(*variant.config, config))
      remarks.push_back(fmt::format("variant '{}' changes nothing: it trains as the config without it", variant.name));
  return remarks;
}

}  // namespace mgcompare
