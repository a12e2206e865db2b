#pragma once

// Edits of a parsed config before it is read: `--set`, `when_cpu:` and the `set:` of a variant.

#include <string>
#include <vector>

#include "config/problem.h"
#include "config/yaml_guard.h"

namespace mgcompare {

struct Override {
  std::string name;  // dotted, in the table of keys
  Place place;
  Node value;
};

enum class OverrideOrigin { command_line, when_cpu, variant };

// All of them add problems for unknown keys, and for keys that may not be set there.
// "KEY=VALUE" of the command line. VALUE is YAML, so that lists can be given.
std::vector<Override> parse_override(const std::string& text, std::vector<Problem>& problems);
// A map of nested or dotted keys as single overrides.
std::vector<Override> collect_overrides(const Node& map, OverrideOrigin origin, std::vector<Problem>& problems);

// The config with the overrides applied in their order. Missing sections are added.
Node with_overrides(Node root, const std::vector<Override>& overrides);

// Replaces a scalar in place of a section by a section: `measure: quick` by `measure: {level: quick}`.
void expand_bare_sections(Node& root);

}  // namespace mgcompare
