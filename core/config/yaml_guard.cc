#include "config/yaml_guard.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>

#include "base/error_text.h"
#include "base/number_text.h"
#include "base/text.h"

namespace mgcompare {
namespace {

[[noreturn]] void refuse_file(const std::string& path, const std::string& text, int line = 0, int column = 0) {
  throw ConfigError({{{path, line, column}, text, "", "", 1}});
}

void check_characters(const std::string& path, std::string_view text) {
  int line = 1, column = 1;
  std::size_t line_begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    // yaml-cpp buffers a whole line that may be a key: hundreds of megabytes for a line of brackets.
    if (i - line_begin > kMaxLineBytes) refuse_file(path, "has a line that is too long; break it", line, 1);
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) refuse_file(path, "is not UTF-8 here; save it with that encoding", line, column);
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0)
      refuse_file(path, "has a NUL character here; this is not a text file, or a damaged one", line, column);
    if (byte == '\r') refuse_file(path, "has line ends of old Macintosh files (CR) here; save it with those of Unix (LF)", line, column);
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f) {
      refuse_file(path, fmt::format("has a control character (U+{:04X}) here; delete it", byte), line, column);
    }
    // Such characters change how the text around them is shown, in messages too.
    if (length > 1 && plain(text.substr(i, length)).empty()) refuse_file(path, "has an invisible character here; delete it", line, column);
    column = byte == '\n' ? 1 : column + 1;
    i += length;
    if (byte == '\n') ++line, line_begin = i;
  }
}

struct Stop {};

// Builds the tree from yaml-cpp's events. Unlike its nodes, events include anchors, aliases, tags and duplicates, and
// limits can be checked before the whole file is in memory.
class Builder : public YAML::EventHandler {
 public:
  Builder(const std::string& text, const std::string& file, std::vector<Problem>& problems)
      : file_(file), problems_(problems) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      lines_.emplace_back(text, begin, end - begin);
      begin = end + 1;
    }
  }

  Node take() { return std::move(root_); }

  // yaml-cpp counts columns in bytes; messages count characters.
  Place place(const YAML::Mark& mark) const {
    const auto line = static_cast<std::size_t>(std::max(mark.line, 0));
    int column = 1;
    if (line < lines_.size()) {
      const std::size_t bytes = std::min(static_cast<std::size_t>(std::max(mark.column, 0)), lines_[line].size());
      for (std::size_t i = 0; i < bytes; ++i) column += (static_cast<unsigned char>(lines_[line][i]) & 0xc0u) != 0x80u;
    }
    return {file_, static_cast<int>(line) + 1, column};
  }

  std::string advice(const Place& place) const {
    const auto line = static_cast<std::size_t>(place.line) - 1;
    const std::size_t indented = line < lines_.size() ? lines_[line].find_first_not_of(" \t") : 0;
    const bool tab = indented != std::string::npos && indented > 0 && lines_[line].find('\t') < indented;
    return tab ? "indent with spaces, not with tabs" : "";
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check(mark, "", anchor);
    Node node;
    node.place = place(mark);
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    problem(mark, "aliases (*name) are not supported", "write the value out");
    OnNull(mark, YAML::NullAnchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check(mark, tag, anchor);
    // "\e[31m" would reach terminals and file names, "\u202e" reverses the text after it.
    const std::string text = plain(value);
    if (text != value) problem(mark, "text must not have control characters", "write it without escape sequences");
    Node node;
    node.kind = Node::Kind::scalar;
    node.text = text;
    node.quoted = tag == "!";
    node.place = place(mark);
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::sequence);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::map);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Level {
    Node node;
    std::optional<Node> key;  // of a map: the last key, whose value follows
  };

  void problem(const YAML::Mark& mark, const std::string& text, const std::string& hint) {
    problems_.push_back({place(mark), text, hint, "", 1});
  }

  void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (++nodes_ > kMaxNodes) {
      problem(mark, fmt::format("the file has more than {} values", kMaxNodes), "make the experiment smaller");
      throw Stop();
    }
    if (anchor != YAML::NullAnchor)
      problem(mark, "anchors (&name) are not supported", "write the value out where it is used");
    if (!tag.empty() && tag != "?" && tag != "!") {
      problem(mark, fmt::format("tags ({}) are not supported", tag.substr(0, 40)), "delete the tag");
    }
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node::Kind kind) {
    check(mark, tag, anchor);
    if (levels_.size() >= kMaxDepth) {
      problem(mark, fmt::format("more than {} nested levels", kMaxDepth), "a config needs five");
      throw Stop();
    }
    Level level;
    level.node.kind = kind;
    level.node.place = place(mark);
    levels_.push_back(std::move(level));
  }

  void close() {
    Node node = std::move(levels_.back().node);
    levels_.pop_back();
    add(std::move(node));
  }

  void add(Node node) {
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.node.is(Node::Kind::sequence)) {
      level.node.items.push_back(std::move(node));
    } else if (!level.key) {
      level.key = std::move(node);
    } else {
      const Node key = std::move(*level.key);
      level.key.reset();
      add_entry(level.node, key, std::move(node));
    }
  }

  void add_entry(Node& map, const Node& key, Node value) {
    const std::size_t width = std::max<std::size_t>(key.text.size(), 1);
    if (!key.is(Node::Kind::scalar)) {
      problems_.push_back({key.place, "a key must be a word", "", "", 1});
    } else if (key.text == "<<" && !key.quoted) {
      problems_.push_back({key.place, "merge keys (<<) are not supported", "write the keys out", "", 2});
    } else if (const auto first = std::find_if(map.entries.begin(), map.entries.end(),
                                               [&](const Entry& entry) { return entry.key == key.text; });
               first != map.entries.end()) {
      problems_.push_back({key.place, fmt::format("key '{}' is given twice", key.text),
                           fmt::format("it is already at {}:{}:{}", file_, first->place.line, first->place.column), "",
                           width});
    } else {
      map.entries.push_back({key.text, key.place, std::move(value)});
    }
  }

  std::string file_;
  std::vector<std::string> lines_;
  std::vector<Problem>& problems_;
  std::vector<Level> levels_;
  std::size_t nodes_ = 0;
  Node root_;
};

bool leading_zero(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

// Advice for text that was probably meant as a number.
std::string number_advice(const Node& node) {
  static const std::regex kUnderscores("[0-9][0-9_]*_[0-9_.]*"), kHexadecimal("[-+]?0[xXoObB][0-9a-fA-F]+"),
      kInfinite("[-+]?\\.?(inf|nan|infinity)", std::regex::icase);
  if (!node.is(Node::Kind::scalar)) return "";
  if (node.quoted) return "write it without quotes";
  if (node.text.size() > 64) return "";
  if (leading_zero(node.text)) return "write it without leading zeros, which some YAML readers interpret as octal";
  if (std::regex_match(node.text, kUnderscores)) return "write it without underscores";
  if (std::regex_match(node.text, kHexadecimal)) return "write it as a decimal number";
  if (std::regex_match(node.text, kInfinite)) return "it must be finite";
  return "";
}

void emit(YAML::Emitter& out, const Node& node, std::size_t depth, bool flow) {
  switch (node.kind) {
    case Node::Kind::null:
      out << YAML::Null;
      return;
    case Node::Kind::scalar:
      if (node.quoted) out << YAML::DoubleQuoted;
      out << node.text;
      return;
    case Node::Kind::sequence: {
      const bool plain = std::all_of(node.items.begin(), node.items.end(),
                                     [](const Node& item) { return item.is(Node::Kind::scalar); });
      flow = flow || plain || node.items.empty();
      out << (flow ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
      for (const Node& item : node.items) emit(out, item, depth + 1, flow);
      out << YAML::EndSeq;
      return;
    }
    case Node::Kind::map:
      flow = flow || depth > 2 || node.entries.empty();
      out << (flow ? YAML::Flow : YAML::Block) << YAML::BeginMap;
      for (const Entry& entry : node.entries) {
        out << YAML::Key << entry.key << YAML::Value;
        emit(out, entry.value, depth + 1, flow || entry.value.is(Node::Kind::map) ? flow || depth > 0 : flow);
      }
      out << YAML::EndMap;
      return;
  }
}

// All of standard input, which can be read once.
const std::string& standard_input() {
  static const std::string text = [] {
    std::string all(kMaxBytes + 1, '\0');
    std::cin.read(all.data(), static_cast<std::streamsize>(all.size()));
    all.resize(static_cast<std::size_t>(std::cin.gcount()));
    if (all.size() > kMaxBytes) refuse_file(kStandardInput, fmt::format("has more bytes than the limit of {}", kMaxBytes));
    return all;
  }();
  return text;
}

// By its beginning. Throws ConfigError for data that were given in place of a config.
bool looks_like_text(const std::string& path, std::ifstream& stream) {
  std::string head(512, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(stream.gcount()));
  stream.clear();
  stream.seekg(0);
  if (head.starts_with("\x93NUMPY"))
    refuse_file(path, "is an array of NumPy, not a config; give a config that names its folder: `data: {set: npy, path: FOLDER}`");
  return head.find('\0') == head.npos;
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

std::string read_text(const std::string& path) {
  if (path == kStandardInput) return standard_input();
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error && error != std::errc::no_such_file_or_directory) refuse_file(path, "cannot be read: " + error_text(error.value()));
  if (!std::filesystem::exists(status)) refuse_file(path, "there is no such file");
  if (std::filesystem::is_directory(status)) refuse_file(path, "is a folder; give the file in it");
  if (!std::filesystem::is_regular_file(status))
    refuse_file(path, "is not a regular file; name one, or give - in place of a config to pass it on standard input");
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) refuse_file(path, "cannot be read: " + error.message());
  std::ifstream stream(path, std::ios::binary);
  const bool is_text = looks_like_text(path, stream);
  if (bytes > kMaxBytes)
    refuse_file(path, fmt::format("has {} bytes; {}", thousands(bytes),
                                  is_text ? fmt::format("the limit is {}", thousands(kMaxBytes))
                                          : "it is a binary file, not a config: give a text file in YAML"));
  std::string text(static_cast<std::size_t>(bytes), '\0');
  if (!stream || !stream.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    refuse_file(path, "cannot be read; check its permissions");
  }
  return text;
}

std::optional<Node> parse_yaml(const std::string& original, const std::string& file, std::vector<Problem>& problems) {
  std::string text;
  for (std::size_t i = original.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0; i < original.size(); ++i) {
    if (original.compare(i, 2, "\r\n") != 0) text += original[i];
  }
  try {
    check_characters(file, text);
  } catch (const ConfigError& error) {
    problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    return std::nullopt;
  }
  Builder builder(text, file, problems);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return Node{Node::Kind::null, "", false, {file, 1, 1}, {}, {}};
    Node root = builder.take();
    if (parser.HandleNextDocument(builder)) {
      problems.push_back(
          {{file, 1, 1}, "the file has several documents", "keep one, and delete the lines '---'", "", 1});
    }
    return root;
  } catch (const Stop&) {
    return std::nullopt;
  } catch (const YAML::Exception& error) {
    const Place place = builder.place(error.mark);
    problems.push_back({place, "this is not YAML: " + error.msg, builder.advice(place), "", 1});
    return std::nullopt;
  }
}

std::optional<double> as_number(const Node& node, std::string& why) {
  why = number_advice(node);
  if (!node.is(Node::Kind::scalar) || !why.empty()) return std::nullopt;
  std::string_view text = node.text;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) why = "it is out of range";
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> as_count(const Node& node, std::string& why) {
  why = number_advice(node);
  if (!node.is(Node::Kind::scalar) || !why.empty()) return std::nullopt;
  if (const auto value = parse_number<std::uint64_t>(node.text)) return value;
  std::string ignored;
  if (const auto number = as_number(node, ignored);
      number && *number >= 0 && *number < 1e15 && *number == std::floor(*number)) {
    why = fmt::format("write {}", static_cast<std::uint64_t>(*number));
  }
  return std::nullopt;
}

std::optional<bool> as_flag(const Node& node, std::string& why) {
  why = node.quoted ? "write it without quotes" : "";
  if (!node.is(Node::Kind::scalar) || node.quoted) return std::nullopt;
  if (node.text == "true" || node.text == "false") return node.text == "true";
  std::string lower = node.text;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower == "yes" || lower == "on" || lower == "y" || lower == "true" || lower == "1") why = "write true";
  if (lower == "no" || lower == "off" || lower == "n" || lower == "false" || lower == "0") why = "write false";
  return std::nullopt;
}

bool needs_quotes(std::string_view text) {
  // Also what this program's reader takes for a number.
  static const std::regex kPlain("[A-Za-z_./][A-Za-z0-9_./+-]*"),
      kWord("(null|true|false|yes|no|on|off|y|n|\\.?(nan|inf|infinity)|\\.[0-9].*)", std::regex::icase);
  const std::string whole(text.substr(0, 256));
  return text.size() > 256 || !std::regex_match(whole, kPlain) || std::regex_match(whole, kWord);
}

std::string to_yaml(const Node& node) {
  YAML::Emitter out;
  emit(out, node, 0, false);
  return std::string(out.c_str(), out.size()) + "\n";
}

std::string to_flow(const Node& node) {
  YAML::Emitter out;
  emit(out, node, 0, true);
  return std::string(out.c_str(), out.size());
}

}  // namespace mgcompare
