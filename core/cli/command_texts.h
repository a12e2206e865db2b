#pragma once

// The texts of commands and options. What options there are is in command_options.cc; all_commands() joins both.

#include <string>
#include <vector>

#include "cli/command_description.h"

namespace mgcompare {

struct OptionText {
  const char* name;                 // "--output", or the name of an argument: "CONFIG"
  const char* value;                // name of its value; empty for a flag and for an argument
  const char* text;
  ValueKind kind = ValueKind::flag;
  std::vector<std::string> choices = {};
};

struct CommandText {
  std::vector<std::string> words;
  const char* purpose;
  std::vector<OptionText> options;
  std::vector<std::string> examples;
};

std::vector<CommandText> command_texts();
std::vector<OptionText> general_texts();

}  // namespace mgcompare
