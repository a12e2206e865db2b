#pragma once

// The options of one strategy, as the experiment gives them. For the strategy's constructor only, on its thread.
//
// Read every option, whatever the others say: each call also declares the option for `mgcompare plugins`, and a key that
// the constructor does not read is refused as unknown. No call throws for a wrong value: it records an error and returns
// the default, so that all errors are reported at once, at their places in the YAML, before anything runs.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mgcompare {

class Options {
 public:
  virtual ~Options() = default;

  // The value of `key`, or the default `otherwise` where it is absent. `least` and `most` are allowed values too. `help`
  // is a phrase for the list of options.
  virtual std::int64_t integer(std::string_view key, std::int64_t otherwise, std::string_view help,
                               std::int64_t least = 0, std::int64_t most = std::numeric_limits<std::int64_t>::max()) = 0;
  virtual double number(std::string_view key, double otherwise, std::string_view help, double least = 0,
                        double most = std::numeric_limits<double>::max()) = 0;
  // Empty where the key is absent or `auto`: the strategy chooses.
  virtual std::optional<double> number_or_auto(std::string_view key, std::string_view help, double least = 0,
                                               double most = std::numeric_limits<double>::max()) = 0;
  virtual bool flag(std::string_view key, bool otherwise, std::string_view help) = 0;
  virtual std::string choice(std::string_view key, std::string_view otherwise, std::string_view help,
                             const std::vector<std::string>& allowed) = 0;

  // Whether the experiment sets this key.
  virtual bool given(std::string_view key) const = 0;
  // Records an error in the value of `key`; the message continues the key ("is longer than the epoch: at most 468").
  virtual void refuse(std::string_view key, std::string_view why) = 0;
  // Records a warning, which does not stop the run.
  virtual void warn(std::string_view key, std::string_view what) = 0;
};

}  // namespace mgcompare
