#include "modules/strategy_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace mgcompare {
namespace {

// The whole text or nothing; YAML's octals and hexadecimals are not numbers here.
template <class T> std::optional<T> parse(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T> std::string range_text(T least, T most) {
  if (most == std::numeric_limits<T>::max()) return fmt::format("at least {}", least);
  return fmt::format("{} to {}", least, most);
}

}  // namespace

StrategyOptions::StrategyOptions(const std::vector<OptionConfig>& given) {
  for (const OptionConfig& option : given) given_[option.key] = option.value;
}

const std::string* StrategyOptions::find(std::string_view key, std::string_view type, const std::string& otherwise,
                                         const std::string& range, std::string_view help) {
  const bool known = std::any_of(asked_.begin(), asked_.end(), [&](const auto& option) { return option.key == key; });
  if (!known) asked_.push_back({std::string(key), std::string(type), otherwise, range, std::string(help)});
  const auto at = given_.find(key);
  return at == given_.end() ? nullptr : &at->second;
}

void StrategyOptions::misfit(std::string_view key, const std::string& value, const std::string& expected) {
  problems_.push_back({std::string(key), fmt::format("must be {}, not '{}'", expected, value)});
}

std::int64_t StrategyOptions::integer(std::string_view key, std::int64_t otherwise, std::string_view help,
                                      std::int64_t least, std::int64_t most) {
  const std::string range = range_text(least, most);
  const std::string* text = find(key, "integer", fmt::format("{}", otherwise), range, help);
  if (text == nullptr) return otherwise;
  const auto value = parse<std::int64_t>(*text);
  if (value && *value >= least && *value <= most) return *value;
  misfit(key, *text, "an integer, " + range);
  return otherwise;
}

double StrategyOptions::number(std::string_view key, double otherwise, std::string_view help, double least,
                               double most) {
  const std::string* text = find(key, "number", fmt::format("{}", otherwise), range_text(least, most), help);
  return text == nullptr ? otherwise : number_in(key, *text, least, most, "").value_or(otherwise);
}

std::optional<double> StrategyOptions::number_or_auto(std::string_view key, std::string_view help, double least,
                                                      double most) {
  const std::string* text = find(key, "number", "auto", range_text(least, most), help);
  if (text == nullptr || *text == "auto") return std::nullopt;
  return number_in(key, *text, least, most, ", or auto");
}

std::optional<double> StrategyOptions::number_in(std::string_view key, const std::string& text, double least,
                                                 double most, std::string_view otherwise) {
  const auto value = parse<double>(text);
  if (value && std::isfinite(*value) && *value >= least && *value <= most) return value;
  misfit(key, text, fmt::format("a number, {}{}", range_text(least, most), otherwise));
  return std::nullopt;
}

bool StrategyOptions::flag(std::string_view key, bool otherwise, std::string_view help) {
  const std::string* text = find(key, "flag", otherwise ? "true" : "false", "true or false", help);
  if (text == nullptr) return otherwise;
  if (*text == "true") return true;
  if (*text != "false") misfit(key, *text, "true or false");
  return *text == "false" ? false : otherwise;
}

std::string StrategyOptions::choice(std::string_view key, std::string_view otherwise, std::string_view help,
                                    const std::vector<std::string>& allowed) {
  const std::string range = fmt::format("{}", fmt::join(allowed, " | "));
  const std::string* text = find(key, "choice", std::string(otherwise), range, help);
  if (text == nullptr) return std::string(otherwise);
  if (std::find(allowed.begin(), allowed.end(), *text) != allowed.end()) return *text;
  misfit(key, *text, "one of " + range);
  return std::string(otherwise);
}

bool StrategyOptions::given(std::string_view key) const { return given_.find(key) != given_.end(); }

void StrategyOptions::refuse(std::string_view key, std::string_view why) {
  problems_.push_back({std::string(key), std::string(why)});
}

void StrategyOptions::warn(std::string_view key, std::string_view what) {
  problems_.push_back({std::string(key), std::string(what), true});
}

std::vector<OptionProblem> StrategyOptions::problems() const {
  std::vector<OptionProblem> all = problems_;
  for (const auto& [key, value] : given_) {
    const bool read = std::any_of(asked_.begin(), asked_.end(), [&](const auto& option) { return option.key == key; });
    if (!read) all.push_back({key, fmt::format("unknown option '{}'", key)});
  }
  return all;
}

}  // namespace mgcompare
