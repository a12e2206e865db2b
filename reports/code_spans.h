#pragma once

// Sentences name keys and commands between backticks.

#include <string>
#include <string_view>
#include <vector>

namespace mgcompare {

struct SentencePart {
  std::string_view text;            // of the sentence, without backticks around it
  bool is_code = false;
};

// Code is what a pair of single backticks encloses, if it has only characters of keys, values and commands: a name from a file cannot
// smuggle in markup. Other backticks are text.
std::vector<SentencePart> parts_of_sentence(std::string_view sentence);

}  // namespace mgcompare
