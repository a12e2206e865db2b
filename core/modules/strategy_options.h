#pragma once

// Options as an experiment gives them: text, checked when the strategy asks.

#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "mgcompare/options.h"
#include "discovery/capabilities.h"

namespace mgcompare {

class StrategyOptions : public Options {
 public:
  explicit StrategyOptions(const std::vector<OptionConfig>& given);
  std::int64_t integer(std::string_view key, std::int64_t otherwise, std::string_view help, std::int64_t least,
                       std::int64_t most) override;
  double number(std::string_view key, double otherwise, std::string_view help, double least, double most) override;
  std::optional<double> number_or_auto(std::string_view key, std::string_view help, double least, double most) override;
  bool flag(std::string_view key, bool otherwise, std::string_view help) override;
  std::string choice(std::string_view key, std::string_view otherwise, std::string_view help,
                     const std::vector<std::string>& allowed) override;
  bool given(std::string_view key) const override;
  void refuse(std::string_view key, std::string_view why) override;
  void warn(std::string_view key, std::string_view what) override;

  // Every key that was asked for, in that order.
  const std::vector<OptionSummary>& asked() const { return asked_; }
  // Problems so far, and one for each given key that nobody asked for.
  std::vector<OptionProblem> problems() const;

 private:
  const std::string* find(std::string_view key, std::string_view type, const std::string& otherwise,
                          const std::string& range, std::string_view help);
  std::optional<double> number_in(std::string_view key, const std::string& text, double least, double most,
                                  std::string_view otherwise);
  void misfit(std::string_view key, const std::string& value, const std::string& expected);

  std::map<std::string, std::string, std::less<>> given_;
  std::vector<OptionSummary> asked_;
  std::vector<OptionProblem> problems_;
};

}  // namespace mgcompare
