#include "modules/strategy_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "base/number_text.h"

namespace mgcompare {
namespace {

template <class T> std::string range_text(T min, T max) {
  if (max == std::numeric_limits<T>::max()) return fmt::format("at least {}", min);
  return fmt::format("{} to {}", min, max);
}

}  // namespace

StrategyOptions::StrategyOptions(const std::vector<OptionConfig>& given) {
  for (const OptionConfig& option : given) given_[option.key] = option.value;
}

const std::string* StrategyOptions::find(std::string_view key, std::string_view type, const std::string& default_value,
                                         const std::string& range, std::string_view help) {
  const OptionSummary option{std::string(key), std::string(type), default_value, range, std::string(help)};
  const auto known = std::find_if(asked_.begin(), asked_.end(), [&](const OptionSummary& other) { return other.key == key; });
  // A constructor may read an option again.
  const auto parts = [](const OptionSummary& of) { return std::tie(of.type, of.value, of.range, of.help); };
  if (known == asked_.end()) asked_.push_back(option);
  else if (parts(*known) != parts(option)) add_defect(key, "twice, in different ways");
  if (key.empty()) add_defect(key, "without a name");
  const auto at = given_.find(key);
  return at == given_.end() ? nullptr : &at->second;
}

template <class T> void StrategyOptions::check_range(std::string_view key, T min, T max, std::optional<T> default_value) {
  if (!(min <= max)) add_defect(key, fmt::format("with the minimum {}, which is not below the maximum {}", min, max));
  else if (default_value && !(*default_value >= min && *default_value <= max))
    add_defect(key, fmt::format("with the default {}, which is not in its range: {}", *default_value, range_text(min, max)));
}

void StrategyOptions::add_defect(std::string_view key, const std::string& what) {
  defects_.insert(fmt::format("declares the option '{}' {}; correct it, and build the plugin again", key, what));
}

void StrategyOptions::add_type_problem(std::string_view key, const std::string& value, const std::string& expected) {
  problems_.push_back({std::string(key), fmt::format("must be {}, not '{}'", expected, value)});
}

std::int64_t StrategyOptions::integer(std::string_view key, std::int64_t default_value, std::string_view help,
                                      std::int64_t min, std::int64_t max) {
  const std::string range = range_text(min, max);
  check_range(key, min, max, std::optional(default_value));
  const std::string* text = find(key, "integer", fmt::format("{}", default_value), range, help);
  if (text == nullptr) return default_value;
  const auto value = parse_number<std::int64_t>(*text);
  if (value && *value >= min && *value <= max) return *value;
  add_type_problem(key, *text, "an integer, " + range);
  return default_value;
}

double StrategyOptions::number(std::string_view key, double default_value, std::string_view help, double min,
                               double max) {
  check_range(key, min, max, std::optional(default_value));
  const std::string* text = find(key, "number", fmt::format("{}", default_value), range_text(min, max), help);
  return text == nullptr ? default_value : number_in(key, *text, min, max, "").value_or(default_value);
}

std::optional<double> StrategyOptions::number_or_auto(std::string_view key, std::string_view help, double min,
                                                      double max) {
  check_range<double>(key, min, max, std::nullopt);
  const std::string* text = find(key, "number", "auto", range_text(min, max), help);
  if (text == nullptr || *text == "auto") return std::nullopt;
  return number_in(key, *text, min, max, ", or auto");
}

std::optional<double> StrategyOptions::number_in(std::string_view key, const std::string& text, double min,
                                                 double max, std::string_view alternative) {
  const auto value = parse_number<double>(text);
  if (value && std::isfinite(*value) && *value >= min && *value <= max) return value;
  add_type_problem(key, text, fmt::format("a number, {}{}", range_text(min, max), alternative));
  return std::nullopt;
}

bool StrategyOptions::flag(std::string_view key, bool default_value, std::string_view help) {
  const std::string* text = find(key, "flag", default_value ? "true" : "false", "true or false", help);
  if (text == nullptr) return default_value;
  if (*text == "true") return true;
  if (*text != "false") add_type_problem(key, *text, "true or false");
  return *text == "false" ? false : default_value;
}

std::string StrategyOptions::choice(std::string_view key, std::string_view default_value, std::string_view help,
                                    const std::vector<std::string>& allowed) {
  const std::string range = fmt::format("{}", fmt::join(allowed, " | "));
  if (allowed.empty()) add_defect(key, "with no values to choose from");
  else if (std::find(allowed.begin(), allowed.end(), default_value) == allowed.end())
    add_defect(key, fmt::format("with the default '{}', which is not one of its values: {}", default_value, range));
  if (std::set(allowed.begin(), allowed.end()).size() != allowed.size()) add_defect(key, "with one value twice: " + range);
  const std::string* text = find(key, "choice", std::string(default_value), range, help);
  if (text == nullptr) return std::string(default_value);
  if (std::find(allowed.begin(), allowed.end(), *text) != allowed.end()) return *text;
  add_type_problem(key, *text, "one of " + range);
  return std::string(default_value);
}

bool StrategyOptions::given(std::string_view key) const { return given_.find(key) != given_.end(); }

void StrategyOptions::refuse(std::string_view key, std::string_view why) {
  problems_.push_back({std::string(key), std::string(why)});
}

void StrategyOptions::warn(std::string_view key, std::string_view what) {
  problems_.push_back({std::string(key), std::string(what), true});
}

std::vector<OptionProblem> StrategyOptions::problems() const {
  std::vector<OptionProblem> all;
  for (const std::string& defect : defects_) all.push_back({"", defect, false, true});
  all.insert(all.end(), problems_.begin(), problems_.end());
  for (const auto& [key, value] : given_) {
    const bool read = std::any_of(asked_.begin(), asked_.end(), [&](const auto& option) { return option.key == key; });
    if (!read) all.push_back({key, fmt::format("unknown option '{}'", key)});
  }
  return all;
}

}  // namespace mgcompare
