// Implements `--only`.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/number_text.h"
#include "plan/baseline_reruns.h"
#include "plan/controls.h"
#include "plan/plan.h"
#include "plan/listed_batch.h"
#include "plan/strategy_rows.h"
#include "config/problem.h"

namespace mgcompare {
namespace {

const std::vector<std::string> kKeys = {"strategy", "as", "devices", "batch", "model", "variant", "seed"};
// Of strategies without trials.
const std::vector<std::string> kStrategyKeys = {"strategy", "as", "model"};

std::string own_value(const Trial& trial, const std::string& key) {
  if (key == "strategy" || key == "as") return trial.strategy.label;
  if (key == "devices") return fmt::format("{}:{}", to_string(trial.device_kind), devices_number(trial));
  if (key == "batch") return fmt::format("{}", listed_batch(trial));
  if (key == "seed") return fmt::format("{}", trial.seed);
  if (key == "model") return trial.config.model.name;
  return trial.variant.empty() ? "base" : trial.variant;
}

bool devices_match(const Trial& trial, const std::string& value) {
  const std::size_t colon = value.find(':');
  const std::string kind(to_string(trial.device_kind));
  if (value.substr(colon == std::string::npos ? 0 : colon + 1) == devices_number(trial) && (colon == std::string::npos || value.starts_with(kind + ":")))
    return true;
  if (colon == std::string::npos) return value == kind || (trial.hosts == 1 && trial.ids.empty() && parse_number<std::size_t>(value) == trial.devices);
  const auto first = parse_number<std::size_t>(value.substr(0, colon)), last = parse_number<std::size_t>(value.substr(colon + 1));
  if (!first) return value.substr(0, colon) == kind && trial.hosts == 1 && trial.ids.empty() && last == trial.devices;
  return last && *first <= trial.devices && trial.devices <= *last;
}

bool matches(const Trial& trial, const std::string& key, const std::string& value) {
  if (key == "devices") return devices_match(trial, value);
  if (key == "strategy" && trial.strategy.name == value) return true;
  return own_value(trial, key) == value;
}

// Splits at commas. A backslash escapes a comma or a backslash.
std::vector<std::string> parts_of(const std::string& filter) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < filter.size(); ++i) {
    if (filter[i] == ',') {
      parts.emplace_back();
      continue;
    }
    const bool escapes = filter[i] == '\\' && i + 1 < filter.size() && (filter[i + 1] == ',' || filter[i + 1] == '\\');
    parts.back() += filter[escapes ? ++i : i];
  }
  return parts;
}

std::map<std::string, std::vector<std::string>> parse(const std::string& filter, const std::vector<std::string>& keys) {
  std::map<std::string, std::vector<std::string>> wanted;
  std::string last_key;
  for (const std::string& part : parts_of(filter)) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) {
      const std::string advice = last_key.empty() ? "keys are " + listed(keys) : fmt::format("each value has its own key: {}={}", last_key, part);
      throw Error(fmt::format("--only {}: '{}' is not KEY=VALUE; {}", filter, part, advice));
    }
    const std::string key = part.substr(0, equals);
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      const std::string hint = did_you_mean(key, keys);
      throw Error(fmt::format("--only {}: there is no key '{}'; {}", filter, key,
                              hint.empty() ? "keys are " + listed(keys) : hint));
    }
    wanted[key].push_back(part.substr(equals + 1));
    last_key = key;
  }
  return wanted;
}

}  // namespace

std::string in_filter(const std::string& value) {
  std::string safe;
  for (const char c : value) {
    if (c == ',' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe;
}

std::vector<Trial> only(const Plan& plan, const std::string& filter) {
  const auto wanted = parse(filter, kKeys);
  for (const auto& [key, values] : wanted) {
    for (const std::string& value : values) {
      const bool used = std::any_of(plan.trials.begin(), plan.trials.end(),
                                    [&, &name = key](const Trial& trial) { return trial.is_repeat() && matches(trial, name, value); });
      if (used) continue;
      std::set<std::string> known;
      for (const Trial& trial : plan.trials)
        if (trial.is_repeat()) known.insert(own_value(trial, key));
      throw Error(fmt::format("--only {}: no trial has {} '{}'; there are {}", filter, key, value,
                              listed({known.begin(), known.end()})));
    }
  }
  std::vector<Trial> chosen, brackets;
  int number = 0;
  for (const Trial& trial : plan.trials) {
    number = std::max(number, trial.number);
    if (trial.bracket > 0) brackets.push_back(trial);
    if (!trial.is_repeat()) continue;
    const bool fits = std::all_of(wanted.begin(), wanted.end(), [&](const auto& want) {
      return std::any_of(want.second.begin(), want.second.end(),
                         [&](const std::string& value) { return matches(trial, want.first, value); });
    });
    if (fits) chosen.push_back(trial);
  }
  if (chosen.empty()) throw Error(fmt::format("--only {}: no trial matches all conditions; use fewer", filter));
  // Numbered as in the whole plan where it has the same check. Else after all of its trials, and for each trial another number,
  // so that --resume can continue with another filter.
  std::vector<Trial> checks = extra_checks(chosen, plan.checked);
  for (Trial& check : checks) {
    const auto same = std::find_if(plan.trials.begin(), plan.trials.end(), [&](const Trial& trial) {
      return trial.control == check.control && trial.reference == check.reference && !trial.is_repeat() && trial.bracket == 0 &&
             trial.seed == check.seed && row_name(trial) == row_name(check);
    });
    check.number = same != plan.trials.end() ? same->number : number + 2 * check.number - (check.control ? 0 : 1);
  }
  std::vector<Trial> all = with_brackets(chosen, std::move(brackets));
  all.insert(all.end(), checks.begin(), checks.end());
  // Those of the chosen rows, whatever their numbers of devices.
  for (const Trial& trial : plan.trials) {
    const auto is_alike = [&](const Trial& other) {
      return other.strategy.label == trial.strategy.label && other.device_kind == trial.device_kind && listed_batch(other) == listed_batch(trial) &&
             other.network == trial.network && other.variant == trial.variant;
    };
    if (trial.rehearsal && std::any_of(chosen.begin(), chosen.end(), is_alike)) all.push_back(trial);
  }
  return all;
}

std::vector<StrategyConfig> only(const std::vector<StrategyConfig>& rows, const std::string& filter) {
  auto wanted = filter.empty() ? std::map<std::string, std::vector<std::string>>() : parse(filter, kStrategyKeys);
  wanted.erase("model");
  const auto matches = [](const StrategyConfig& row, const std::string& key, const std::string& value) {
    return row.label == value || (key == "strategy" && row.name == value);
  };
  for (const auto& [key, values] : wanted) {
    for (const std::string& value : values) {
      const auto fits = [&, &name = key](const StrategyConfig& row) { return matches(row, name, value); };
      if (std::any_of(rows.begin(), rows.end(), fits)) continue;
      std::set<std::string> known;
      for (const StrategyConfig& row : rows) known.insert(row.label);
      throw Error(fmt::format("--only {}: no row has {} '{}'; there are {}", filter, key, value, listed({known.begin(), known.end()})));
    }
  }
  std::vector<StrategyConfig> chosen;
  for (const StrategyConfig& row : rows) {
    const bool fits = std::all_of(wanted.begin(), wanted.end(), [&](const auto& want) {
      return std::any_of(want.second.begin(), want.second.end(),
                         [&](const std::string& value) { return matches(row, want.first, value); });
    });
    if (fits) chosen.push_back(row);
  }
  if (chosen.empty()) throw Error(fmt::format("--only {}: no row matches all conditions; use fewer", filter));
  return chosen;
}

std::vector<ModelConfig> only_networks(const Config& config, const std::string& filter) {
  std::vector<ModelConfig> networks = networks_of(config);
  const auto wanted = filter.empty() ? std::map<std::string, std::vector<std::string>>() : parse(filter, kStrategyKeys);
  const auto names = wanted.find("model");
  if (names == wanted.end()) return networks;
  std::vector<std::string> known;
  for (const ModelConfig& model : networks) known.push_back(model.name);
  for (const std::string& name : names->second)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(fmt::format("--only {}: there is no network '{}'; there {} {}", filter, name, known.size() == 1 ? "is" : "are", listed(known)));
  std::erase_if(networks, [&](const ModelConfig& model) {
    return std::find(names->second.begin(), names->second.end(), model.name) == names->second.end();
  });
  return networks;
}

}  // namespace mgcompare
