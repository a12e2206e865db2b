#pragma once

// What is wrong with an experiment, said so that it can be put right: the place, the line with a caret, a suggestion.

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
  std::string note;       // a line of its own below ("allowed here: ..."); may be empty
  std::size_t width = 1;  // characters that the caret underlines
};

// All problems of one reading. what() is the whole text for the terminal, source lines and count included; the lines
// are read again from the files that the places name.
class ConfigError : public Error {
 public:
  explicit ConfigError(std::vector<Problem> problems);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

// "did you mean 'epochs'?" for the candidate that is nearest to what was written; empty when none is near.
std::string did_you_mean(std::string_view written, const std::vector<std::string>& candidates);

// "a, b and c": at most `most` of them.
std::string listed(const std::vector<std::string>& words, std::size_t most = 24);

}  // namespace mgcompare
