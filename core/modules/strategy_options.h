#pragma once

// Implements Options for the options of a config: strings that are parsed and checked when the strategy asks for them.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "mgcompare/options.h"
#include "discovery/capabilities.h"

namespace mgcompare {

class StrategyOptions : public Options {
 public:
  explicit StrategyOptions(const std::vector<OptionConfig>& given);
  std::int64_t integer(std::string_view key, std::int64_t default_value, std::string_view help, std::int64_t min,
                       std::int64_t max) override;
  double number(std::string_view key, double default_value, std::string_view help, double min, double max) override;
  std::optional<double> number_or_auto(std::string_view key, std::string_view help, double min, double max) override;
  bool flag(std::string_view key, bool default_value, std::string_view help) override;
  std::string choice(std::string_view key, std::string_view default_value, std::string_view help,
                     const std::vector<std::string>& allowed) override;
  bool given(std::string_view key) const override;
  void refuse(std::string_view key, std::string_view why) override;
  void warn(std::string_view key, std::string_view what) override;

  // The options that the strategy asked for, in that order.
  const std::vector<OptionSummary>& asked() const { return asked_; }
  // The problems found so far: options that are declared impossibly, of which the plugin is to blame; wrong values; and one for
  // each given key that the strategy did not ask for.
  std::vector<OptionProblem> problems() const;

 private:
  const std::string* find(std::string_view key, std::string_view type, const std::string& default_value,
                          const std::string& range, std::string_view help);
  template <class T> void check_range(std::string_view key, T min, T max, std::optional<T> default_value);
  // A defect of the plugin; `what` continues "declares the option 'KEY' ".
  void add_defect(std::string_view key, const std::string& what);
  std::optional<double> number_in(std::string_view key, const std::string& text, double min, double max,
                                  std::string_view alternative);
  void add_type_problem(std::string_view key, const std::string& value, const std::string& expected);

  std::map<std::string, std::string, std::less<>> given_;
  std::vector<OptionSummary> asked_;
  std::vector<OptionProblem> problems_;
  std::set<std::string> defects_;
};

}  // namespace mgcompare
