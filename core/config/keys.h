#pragma once

// The one table of keys. What the reader accepts, which defaults it fills in, what it suggests, the text of
// `mgcompare config --explain`, the page docs/config.md and the JSON schema for editors all come from it.

#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/config.h"

namespace mgcompare {

// Where a key's value lives. Keys without a field (layers, strategies ...) have a form of their own.
using Field = std::variant<std::monostate, std::string& (*)(Config&), double& (*)(Config&), std::size_t& (*)(Config&),
                           bool& (*)(Config&), std::vector<double>& (*)(Config&),
                           std::vector<std::size_t>& (*)(Config&), std::vector<std::string>& (*)(Config&)>;

struct Key {
  std::string_view name;  // dotted: "optimizer.learning_rate"
  std::string_view help;
  Field field;
  double least = 0, most = std::numeric_limits<double>::max();  // inclusive
  std::vector<std::string> choices;                             // of a text; empty: any
  std::string_view unit;
  bool varies = true;  // a variant may set it
  bool bare = false;   // its section's value where that is no section: `measure: quick` sets measure.level

  std::string_view section() const;  // "optimizer"; empty for a key at the top
  std::string_view leaf() const;
};

const std::vector<Key>& keys();
const Key* find_key(std::string_view name);
bool is_section(std::string_view name);
// The key that a bare value of this section stands for; null for sections that have none.
const Key* bare_key(std::string_view section);
// What may stand in a section; "" is the top, whose sections are among the names.
std::vector<std::string> names_in(std::string_view section);
// All dotted names.
std::vector<std::string> all_names();

// The same for one layer of a network.
using LayerField =
    std::variant<std::size_t& (*)(LayerConfig&), std::size_t* (*)(LayerConfig&), double& (*)(LayerConfig&),
                 bool& (*)(LayerConfig&), InitializerConfig& (*)(LayerConfig&)>;

struct LayerKey {
  std::string_view name;
  std::string_view help;
  LayerField field;  // size_t*: a pair, height and width
  double least = 0, most = 0;
};

struct LayerType {
  std::string_view name;
  std::string_view help;
  std::vector<std::string> keys;
  std::string_view shorthand;  // the key that a bare value stands for; empty: none
  std::vector<std::string> required;
};

const std::vector<LayerKey>& layer_keys();
const LayerKey* find_layer_key(std::string_view name);
const std::vector<LayerType>& layer_types();
const LayerType* find_layer_type(std::string_view name);
const std::vector<std::string>& initializers();

// "a number from 0 to 1", "true or false", "one of sgd, adam": what a key expects.
std::string expected(const Key& key);

// The default as YAML writes it; empty for keys without a field and for empty texts and lists.
std::string default_text(const Key& key);

// The documentation of every layer and its settings, indented to stand below the key `layers`.
std::string explain_layers();

// The documentation of the keys whose dotted name begins with `prefix`; all of them for "". Throws Error when there are
// none.
std::string explain_keys(std::string_view prefix);

// The page docs/config.md: every key and layer, in Markdown.
std::string markdown_keys();

// JSON schema (draft 7) of a config file.
std::string json_schema();

}  // namespace mgcompare
