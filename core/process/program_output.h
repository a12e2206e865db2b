#pragma once

// Runs a short program to its end.

#include <string>
#include <vector>

namespace mgcompare {

struct ProgramOutput {
  std::string text;                 // of its standard output and its standard error
  int exit_code = 0;                // -1: ended by a signal
};

// `words`: the path of the program, then its arguments, which no shell reads. Throws Error if it cannot start.
ProgramOutput output_of(const std::vector<std::string>& words);

}  // namespace mgcompare
