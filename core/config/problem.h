#pragma once

// Mistakes in a config, reported with place, source line, caret and suggestion.

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "mgcompare/error.h"

namespace mgcompare {

struct Problem {
  Place place;
  std::string text;       // "unknown key 'epoch'"
  std::string hint;       // "did you mean 'epochs'?"; may be empty
  std::string note;       // a separate line ("allowed here: ..."); may be empty
  std::size_t width = 1;  // characters that the caret underlines
  bool of_plugin = false;  // the config is right, but a plugin that it names cannot be used
};

// All problems found in a config. what() is the complete text for the terminal, with source lines and count; the lines are
// read again from the files that the places name.
class ConfigError : public Error {
 public:
  explicit ConfigError(std::vector<Problem> problems);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

// Throws ConfigError unless there are no problems. If all are `of_plugin`, throws Error with the same text.
void throw_problems(std::vector<Problem> problems);

// "did you mean 'epochs'?" for the candidate with the smallest edit distance, or the one that other frameworks call so; empty if there is none.
std::string did_you_mean(std::string_view written, const std::vector<std::string>& candidates);

// "a, b and c"; at most `max` words.
std::string listed(const std::vector<std::string>& words, std::size_t max = 24);

}  // namespace mgcompare
