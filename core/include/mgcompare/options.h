#pragma once

// The options of one strategy, as written in the experiment. A constructor reads every key that it knows; a key that
// nobody read, and a value that does not fit, is refused before anything runs, at its place in the YAML. The calls also
// document the option: `mgcompare plugins` lists what was asked for.

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

  // Each returns the value, or the default where the key is absent. Limits are inclusive. A value that does not fit is
  // recorded as an error, and the default is returned, so that all errors are found at once.
  virtual std::int64_t integer(std::string_view key, std::int64_t otherwise, std::string_view help,
                               std::int64_t least = 0, std::int64_t most = std::numeric_limits<std::int64_t>::max()) = 0;
  virtual double number(std::string_view key, double otherwise, std::string_view help, double least = 0,
                        double most = std::numeric_limits<double>::max()) = 0;
  // Nothing where the key is absent or says `auto`: the strategy then chooses.
  virtual std::optional<double> number_or_auto(std::string_view key, std::string_view help, double least = 0,
                                               double most = std::numeric_limits<double>::max()) = 0;
  virtual bool flag(std::string_view key, bool otherwise, std::string_view help) = 0;
  virtual std::string choice(std::string_view key, std::string_view otherwise, std::string_view help,
                             const std::vector<std::string>& allowed) = 0;

  // Whether the experiment gives this key.
  virtual bool given(std::string_view key) const = 0;
  // Records an error of the value of `key` ("is longer than the epoch of 468 steps: at most 468").
  virtual void refuse(std::string_view key, std::string_view why) = 0;
  // Records advice that does not stop the run.
  virtual void warn(std::string_view key, std::string_view what) = 0;
};

}  // namespace mgcompare
