#include "config/key_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/number_text.h"

namespace mgcompare {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxText = 200;

// Those of ASCII, no-break space, the spaces of typography and the ideographic one.
constexpr std::string_view kBlanks[] = {" ", "\t", "\n", "\r", "\u00a0", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005",
                                        "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u202f", "\u205f", "\u3000"};

// Bytes of the blank at the beginning or the end of the text; 0 without one.
std::size_t leading_blank(std::string_view text) {
  for (const std::string_view blank : kBlanks)
    if (text.starts_with(blank)) return blank.size();
  return 0;
}
std::size_t trailing_blank(std::string_view text) {
  for (const std::string_view blank : kBlanks)
    if (text.ends_with(blank)) return blank.size();
  return 0;
}

// Bytes that continue no character.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::vector<std::string> names_of(const Choice& choice) { return {choice.names.begin(), choice.names.end()}; }

class Reader {
 public:
  Reader(const Key& key, const Node& node, Config& config, std::vector<Problem>& problems)
      : key_(key), node_(node), config_(config), problems_(problems) {}

  void operator()(std::monostate) {}
  void operator()(const Choice& choice) {
    const bool is_text = node_.is(Node::Kind::scalar) && node_.text.size() <= kMaxText;
    const auto found = std::find(choice.names.begin(), choice.names.end(), node_.text);
    if (is_text && found != choice.names.end()) {
      choice.set(config_, static_cast<std::size_t>(found - choice.names.begin()));
    } else {
      refuse<int>(node_, is_text ? did_you_mean(node_.text, names_of(choice)) : "");
    }
  }
  template <class T>
  void operator()(T& (*field)(Config&)) {
    if (std::optional<T> value = one<T>(node_)) field(config_) = *value;
  }
  template <class T>
  void operator()(std::vector<T>& (*field)(Config&)) {
    std::vector<T> values;
    if (node_.is(Node::Kind::sequence)) {
      for (const Node& item : node_.items) {
        std::optional<T> value = one<T>(item);
        if (value && !key_.repeats && std::find(values.begin(), values.end(), *value) != values.end()) {
          problem(item, fmt::format("{} is given twice in '{}'", item.text, key_.name), "delete one of them");
        } else if (value) {
          values.push_back(*value);
        }
      }
    } else if (std::optional<T> value = one<T>(node_)) {
      values.push_back(*value);
    }
    const bool may_be_empty = field(config_).empty();
    if (node_.is(Node::Kind::sequence) && node_.items.empty() && !may_be_empty) {
      problem(node_, fmt::format("'{}' is an empty list", key_.name), "give at least one value");
    }
    if (!values.empty() || may_be_empty) field(config_) = std::move(values);
  }

 private:
  void problem(const Node& node, std::string text, std::string hint) {
    problems_.push_back({node.place, std::move(text), std::move(hint), "", width_of(node)});
  }
  template <class T>
  std::optional<T> refuse(const Node& node, const std::string& hint) {
    problem(node, fmt::format("'{}' must be {}, not {}", key_.name, expected(key_), describe(node)), hint);
    return std::nullopt;
  }

  template <class T>
  std::optional<T> one(const Node& node) {
    std::string why;
    if constexpr (std::is_same_v<T, bool>) {
      const std::optional<bool> value = as_flag(node, why);
      return value ? value : refuse<T>(node, why);
    } else if constexpr (std::is_same_v<T, std::string>) {
      const std::size_t most = key_.max < std::numeric_limits<double>::max() ? static_cast<std::size_t>(key_.max) : kMaxText;
      if (is_name(node, most)) return node.text;
      if (!node.is(Node::Kind::scalar)) return refuse<T>(node, "");
      problem(node, fmt::format("'{}' must be text {}, not {}", key_.name, name_form(most), describe(node)), "");
      return std::nullopt;
    } else {
      std::optional<T> value;
      if constexpr (std::is_same_v<T, double>)
        value = as_number(node, why);
      else
        value = as_count(node, why);
      if (value && static_cast<double>(*value) >= key_.min && static_cast<double>(*value) <= key_.max) return value;
      return refuse<T>(node, why);
    }
  }

  const Key& key_;
  const Node& node_;
  Config& config_;
  std::vector<Problem>& problems_;
};

struct Writer {
  Config& config;
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(const Choice& choice) const { return choice.names[choice.get(config)]; }
  // Text that was not given is left out: it can be no value.
  Json operator()(std::string& (*field)(Config&)) const { return field(config).empty() ? Json() : Json(field(config)); }
  template <class T>
  Json operator()(T& (*field)(Config&)) const {
    return field(config);
  }
};

struct DefaultText {
  Config config;
  std::string operator()(std::monostate) { return ""; }
  std::string operator()(const Choice& choice) { return std::string(choice.names[choice.get(config)]); }
  template <class T>
  std::string operator()(T& (*field)(Config&)) {
    return text(field(config));
  }

  static std::string text(const std::string& value) { return value; }
  static std::string text(bool value) { return value ? "true" : "false"; }
  static std::string text(double value) { return fmt::format("{:.6g}", value); }
  static std::string text(std::size_t value) { return fmt::format("{}", value); }
  template <class T>
  static std::string text(const std::vector<T>& values) {
    std::vector<std::string> words;
    for (const T& value : values) words.push_back(text(value));
    return words.empty() ? "" : fmt::format("[{}]", fmt::join(words, ", "));
  }
};

std::string range_text(const Key& key) {
  if (key.max == std::numeric_limits<double>::max()) return "";
  return fmt::format(" from {} to {}", number_text(key.min), number_text(key.max));
}

struct Expectation {
  const Key& key;
  std::string operator()(std::monostate) const { return std::string(key.help); }
  std::string operator()(const Choice& choice) const { return fmt::format("one of {}", fmt::join(choice.names, ", ")); }
  std::string operator()(std::string& (*)(Config&)) const { return "text"; }
  std::string operator()(double& (*)(Config&)) const { return "a number" + range_text(key); }
  std::string operator()(std::size_t& (*)(Config&)) const { return "a whole number" + range_text(key); }
  std::string operator()(bool& (*)(Config&)) const { return "true or false"; }
  std::string operator()(std::vector<double>& (*)(Config&)) const {
    return "a number or a list of numbers" + range_text(key);
  }
  std::string operator()(std::vector<std::size_t>& (*)(Config&)) const {
    return "a whole number or a list of them" + range_text(key);
  }
  std::string operator()(std::vector<std::string>& (*)(Config&)) const { return "a text or a list of texts"; }
};

}  // namespace

void read_value(const Key& key, const Node& node, Config& config, std::vector<Problem>& problems) {
  std::visit(Reader(key, node, config, problems), key.field);
}

Json value_of(const Key& key, const Config& config) {
  // Fields are accessed through references that only the reader writes to.
  return std::visit(Writer{const_cast<Config&>(config)}, key.field);
}

std::string expected(const Key& key) { return std::visit(Expectation{key}, key.field); }

std::string default_text(const Key& key) { return std::visit(DefaultText{}, key.field); }

bool is_name(const Node& node, std::size_t max) {
  if (!node.is(Node::Kind::scalar) || node.text.empty()) return false;
  const bool is_stored = node.place.file.empty();
  return characters(node.text) <= max && (is_stored || (leading_blank(node.text) == 0 && trailing_blank(node.text) == 0));
}

std::string as_name(std::string text, std::size_t max) {
  // Ends with the first byte of a character, because only first bytes count.
  while (characters(text) > max) text.pop_back();
  while (const std::size_t blank = leading_blank(text)) text.erase(0, blank);
  while (const std::size_t blank = trailing_blank(text)) text.resize(text.size() - blank);
  return text.empty() ? "experiment" : text;
}

std::string name_form(std::size_t max) {
  return fmt::format("of 1 to {} characters that neither begins nor ends with a blank", max);
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::sequence:
      return node.items.empty() ? "an empty list" : "a list";
    case Node::Kind::map:
      return "a section of keys";
    case Node::Kind::scalar:
      break;
  }
  return node.text.size() > 40 ? fmt::format("'{}...'", node.text.substr(0, 40)) : fmt::format("'{}'", node.text);
}

std::size_t width_of(const Node& node) {
  return node.is(Node::Kind::scalar) ? node.text.size() + (node.quoted ? 2 : 0) : 1;
}

}  // namespace mgcompare
