#pragma once

// YAML files from anyone, read without surprises: what yaml-cpp would let pass, or choke on, is refused here with its
// place. The only user of yaml-cpp.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/problem.h"

namespace mgcompare {

inline constexpr std::size_t kMostBytes = 1 << 20;
inline constexpr std::size_t kMostLineBytes = 1 << 16;
inline constexpr std::size_t kMostNodes = 10000;
inline constexpr std::size_t kMostDepth = 32;
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

struct Entry;

// A parsed value with its place. Scalars keep their text: what it means depends on the key.
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

// The file's bytes. Throws ConfigError when it is not a regular file of at most kMostBytes; looks before it reads.
std::string read_text(const std::string& path);

// Adds a problem for each thing that is refused: what is not UTF-8, control characters, duplicate keys, anchors,
// aliases, merge keys, tags, a second document, more than kMostDepth levels, kMostNodes nodes or kMostLineBytes in a
// line. `file` is what places say. Nothing when the syntax is broken. A byte order mark and carriage returns are left
// out.
std::optional<Node> parse_yaml(const std::string& text, const std::string& file, std::vector<Problem>& problems);

// A plain scalar as a value of that type. Nothing when it is not one; `why` is then advice, or empty. Numbers are
// decimal and finite: no leading zeros, no hexadecimal, no underscores.
std::optional<double> as_number(const Node& node, std::string& why);
std::optional<std::uint64_t> as_count(const Node& node, std::string& why);
std::optional<bool> as_flag(const Node& node, std::string& why);

// Whether a plain scalar of this text would be taken for something else than text.
bool needs_quotes(std::string_view text);

// Sections as blocks, what is inside them on one line.
std::string to_yaml(const Node& node);
// All of it on one line.
std::string to_flow(const Node& node);

}  // namespace mgcompare
