#pragma once

// Text -> tree: parses untrusted YAML. Input that yaml-cpp would accept silently, or that would exhaust memory, is refused
// with its place. The only user of yaml-cpp.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/problem.h"

namespace mgcompare {

inline constexpr std::size_t kMaxBytes = 1 << 20;
inline constexpr std::size_t kMaxLineBytes = 1 << 16;
inline constexpr std::size_t kMaxNodes = 10000;
inline constexpr std::size_t kMaxDepth = 32;

struct Entry;

// A parsed value with its place. Scalars are kept as text; the key decides about the type.
struct Node {
  enum class Kind { null, scalar, sequence, map } kind = Kind::null;
  std::string text;
  bool quoted = false;
  Place place;
  std::vector<Node> items;
  std::vector<Entry> entries;  // in the order of the file; keys are unique

  const Node* find(std::string_view key) const;
  bool is(Kind other) const { return kind == other; }
};

struct Entry {
  std::string key;
  Place place;
  Node value;
};

// The file's bytes. Throws ConfigError if it is not a regular file of at most kMaxBytes, which is checked before reading.
// For kStandardInput, at most as many bytes of the standard input; they are kept for further calls, which quote the text.
std::string read_text(const std::string& path);

// Adds a problem for: invalid UTF-8, control characters, duplicate keys, anchors, aliases, merge keys, tags, a second
// document, more than kMaxDepth levels, kMaxNodes nodes or kMaxLineBytes in a line. `file` is used in places. Returns
// nothing for a syntax error. A byte order mark and carriage returns are removed.
std::optional<Node> parse_yaml(const std::string& text, const std::string& file, std::vector<Problem>& problems);

// A plain scalar as a value of that type. Returns nothing if it is not one; `why` is then advice, or empty. Numbers are
// decimal and finite, without leading zeros and underscores.
std::optional<double> as_number(const Node& node, std::string& why);
std::optional<std::uint64_t> as_count(const Node& node, std::string& why);
std::optional<bool> as_flag(const Node& node, std::string& why);

// Whether YAML readers might not read this text as a string if it were a plain scalar.
bool needs_quotes(std::string_view text);

// As YAML: sections as blocks, their contents in flow style.
std::string to_yaml(const Node& node);
// As YAML on one line.
std::string to_flow(const Node& node);

}  // namespace mgcompare
