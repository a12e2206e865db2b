#pragma once

// The table of all keys of a config and of a layer. Reader, writer, `mgcompare config --explain`, docs/config.md and the
// JSON schema are generated from it. Nothing else lists keys.

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/config.h"

namespace mgcompare {

// A setting with a fixed set of names (kinds.h).
struct Choice {
  std::span<const std::string_view> names;
  std::size_t (*get)(Config&);              // index of the current value in `names`
  void (*set)(Config&, std::size_t index);
};

// Where a key's value is stored. Keys with a syntax of their own (layers, strategies ...) have none.
using Field = std::variant<std::monostate, std::string& (*)(Config&), double& (*)(Config&), std::size_t& (*)(Config&),
                           bool& (*)(Config&), std::vector<double>& (*)(Config&),
                           std::vector<std::size_t>& (*)(Config&), std::vector<std::string>& (*)(Config&), Choice>;

struct Key {
  std::string_view name;  // dotted: "optimizer.learning_rate"
  std::string_view help;
  Field field;
  double min = 0, max = std::numeric_limits<double>::max();  // inclusive; of a text: its characters
  std::string_view unit;
  bool varies = true;  // a variant may set it
  bool repeats = false;  // a list may have a value twice
  bool bare = false;   // a scalar in place of the section sets this key: `measure: quick` sets measure.level

  std::string_view section() const;  // "optimizer"; empty for a key at the top level
  std::string_view leaf() const;     // "learning_rate"; with a dot for a key of a section within the section
};

const std::vector<Key>& keys();
// The finders return null if there is no such key.
const Key* find_key(std::string_view name);
const Key* find_key(std::string_view section, std::string_view leaf);
// The key that a scalar in place of the section sets.
const Key* bare_key(std::string_view section);
// Also for a section within a section: "data.crop".
bool is_section(std::string_view name);
// Names allowed in a section; "" is the top level, whose names include the sections.
std::vector<std::string> names_in(std::string_view section);
// All dotted names.
std::vector<std::string> all_names();

// The same for one layer of a network.
using LayerField =
    std::variant<std::size_t& (*)(LayerConfig&), std::size_t* (*)(LayerConfig&), double& (*)(LayerConfig&),
                 bool& (*)(LayerConfig&), InitializerConfig& (*)(LayerConfig&), std::optional<double>& (*)(LayerConfig&)>;

struct LayerKey {
  std::string_view name;
  std::string_view help;
  LayerField field;  // size_t*: a pair, height and width
  double min = 0, max = 0;
};

struct LayerDescription {
  LayerType type;
  std::string_view help;
  std::vector<std::string> keys;
  std::string_view shorthand;  // the key that a scalar sets: `dense: 10`; empty: none
  std::vector<std::string> required;

  std::string_view name() const { return to_string(type); }
};

const std::vector<LayerKey>& layer_keys();
const LayerKey* find_layer_key(std::string_view name);
// One for each LayerType, in its order.
const std::vector<LayerDescription>& layer_descriptions();
const LayerDescription* find_layer(std::string_view name);
// A layer with the default settings of its type.
LayerConfig default_layer(LayerType type);
// Of an entry of `layers:` that is a block of layers, not a layer.
inline constexpr std::string_view kRepeatHelp =
    "`repeat: {times: 3, name: X, layers: [...]}` stands for copies of a block of layers, one after the other; `times` is from "
    "1 to 1000. Names in the block are its own, and `input` is the block's input there: the output of the copy before. The "
    "copies' layers are called X.1.conv1, X.2.conv1 and so on, and the last copy's output is X. Blocks may contain blocks.";
// Names of initial weights.
std::vector<std::string> initializers();

// Documentation of the keys whose dotted name begins with `prefix`, "": all; and of the keys, layers and settings of layers of
// this name, and those that take it as a value. Throws Error if there is none.
std::string explain_keys(std::string_view prefix);

// The page docs/config.md: every key and layer, in Markdown.
std::string markdown_keys();

// JSON schema (draft 7) of a config file.
std::string json_schema();

}  // namespace mgcompare
