// The text of `mgcompare config --explain`, from the tables of keys.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <variant>

#include "base/number_text.h"
#include "config/key_value.h"
#include "config/keys.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

std::string explain_layer(const LayerDescription& layer) {
  std::string text = fmt::format("    {:<19} {}", layer.name(), layer.help);
  if (!layer.keys.empty()) text += fmt::format(" Settings: {}", fmt::join(layer.keys, ", "));
  if (!layer.required.empty()) text += fmt::format("; needs {}", fmt::join(layer.required, " and "));
  if (!layer.shorthand.empty()) text += fmt::format("; `{}: X` means {{{}: X}}", layer.name(), layer.shorthand);
  return text + (layer.keys.empty() ? "\n" : ".\n");
}

std::string explain_setting(const LayerKey& key) {
  std::string text = fmt::format("    {:<13} {}", key.name, key.help);
  if (key.max > 0) text += fmt::format(" From {} to {}.", number_text(key.min), number_text(key.max));
  if (key.name == "weights") text += fmt::format(" Names: {}.", fmt::join(initializers(), ", "));
  return text + "\n";
}

constexpr std::string_view kBesideLayer = "  beside a layer: `name: X` names it, and `inputs: [X, Y]` names the layers that it reads "
                                          "instead of the one before it; `input` is the sample\n";

std::string explain_blocks() { return fmt::format("  blocks: {}\n", kRepeatHelp); }

std::string explain_layers() {
  std::string text;
  for (const LayerDescription& layer : layer_descriptions()) text += explain_layer(layer);
  text += "  settings:\n";
  for (const LayerKey& key : layer_keys()) text += explain_setting(key);
  return text + std::string(kBesideLayer) + explain_blocks();
}

std::string explain_key(const Key& key) {
  std::string text = std::string(key.name) + "\n    " + std::string(key.help) + "\n";
  if (key.name == "layers") text += explain_layers();
  if (std::holds_alternative<std::monostate>(key.field)) return text;
  const std::string default_value = default_text(key);
  return text + "    " + expected(key) + (key.unit.empty() ? "" : fmt::format(", {}", key.unit)) +
         (default_value.empty() ? "" : fmt::format("; default {}", default_value)) + "\n";
}

template <class List>
bool has(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Whether a help text has "WORD: ...": a value, or a key of an entry, that it explains.
bool describes(std::string_view help, std::string_view word) {
  const std::string label = fmt::format("{}: ", word);
  const std::size_t at = help.find(label);
  return at != help.npos && (at == 0 || std::string_view(" {,").find(help[at - 1]) != std::string_view::npos);
}

// Whether `word` is the key, a part of its name, or a value that it takes.
bool is_about(const Key& key, std::string_view word) {
  const std::string parts = fmt::format(".{}.", key.name);
  const Choice* const choice = std::get_if<Choice>(&key.field);
  return parts.find(fmt::format(".{}.", word)) != parts.npos || (choice != nullptr && has(choice->names, word)) || describes(key.help, word);
}

// Words of `layers:`. A layer is explained with its settings, a setting with the layers that have it.
std::string explain_in_layers(std::string_view word) {
  std::string text;
  if (const LayerDescription* layer = find_layer(word)) {
    text += explain_layer(*layer);
    for (const std::string& setting : layer->keys) text += explain_setting(*find_layer_key(setting));
  }
  if (const LayerKey* key = find_layer_key(word)) {
    text += explain_setting(*key);
    for (const LayerDescription& layer : layer_descriptions())
      if (has(layer.keys, word)) text += explain_layer(layer);
  }
  if (has(initializers(), word)) text += explain_setting(*find_layer_key("weights"));
  if (has(std::array<std::string_view, 3>{"name", "inputs", "input"}, word)) text += kBesideLayer;
  if (has(std::array<std::string_view, 4>{"repeat", "times", "name", "input"}, word)) text += explain_blocks();
  return text.empty() ? "" : "layers\n" + text;
}

}  // namespace

std::string explain_keys(std::string_view prefix) {
  std::string text;
  for (const Key& key : keys())
    if (key.name.starts_with(prefix) || is_about(key, prefix)) text += explain_key(key);
  // The key `layers` itself has all of it.
  if (!std::string_view("layers").starts_with(prefix)) text += explain_in_layers(prefix);
  if (!text.empty()) return text;
  std::vector<std::string> known = all_names();
  for (const LayerDescription& layer : layer_descriptions()) known.emplace_back(layer.name());
  for (const LayerKey& key : layer_keys()) known.emplace_back(key.name);
  known.insert(known.end(), {"repeat", "times", "inputs"});
  const std::string nearest = did_you_mean(prefix, known);
  throw Error(fmt::format("there is no key '{}'; {}", prefix,
                          nearest.empty() ? "`mgcompare config --explain` lists them all" : nearest));
}

}  // namespace mgcompare
