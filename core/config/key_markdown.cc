// docs/config.md, from the tables of keys.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/number_text.h"
#include "config/key_value.h"
#include "config/keys.h"

namespace mgcompare {
namespace {

constexpr std::string_view kIntroduction = R"(<!-- Generated: mgcompare config --markdown > docs/config.md -->
# Configuration

An experiment is a YAML file. This page lists every key that such a file may have, with type, range and default; all but
`strategies` and a network (`model`, `models` or `layers`) may be left out. `mgcompare config --explain` prints the same at the
terminal, `mgcompare config WORD` what it has about a section, key, layer or value, and `share/mgcompare.schema.json` completes and checks keys in editors.

- A key of a section may be written nested (`optimizer: {kind: sgd}`) or, in `variants`, `when_cpu` and `--set`, dotted
  (`optimizer.kind`).
- A key that takes a list also takes one value.
- A mistake is reported with file, line, column and a suggestion. Those of the file are reported together, 20 at most; if it has none,
  those of the options of strategies and of networks that do not fit the data. Nothing runs before.
- Keys marked with * are the same for the whole run; `variants` cannot set them.

Annotated examples are in [configs](../configs); the options of a strategy are in the README of its folder in
[plugins](../plugins) and in the output of `mgcompare plugins`.
)";

constexpr std::string_view kLayersIntroduction = R"(
## Layers

An entry of `layers` is the name of a layer, or `{NAME: {setting: value}}`. The loss, softmax cross-entropy, is not a layer
of the list. Required settings are **bold**.

| layer | meaning | settings | short form |
| --- | --- | --- | --- |
)";

constexpr std::string_view kSettingsIntroduction = R"(
| setting | type and range | meaning |
| --- | --- | --- |
)";

constexpr std::string_view kNamesOfLayers = R"(
Beside a layer, `name: X` names it, and `inputs: [X, Y]` names the layers that it reads instead of the one before it;
`input` is the sample.
)";

// Text of a table's cell.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

// What keys without a field take; the others have expected().
std::string type_of(const Key& key) {
  static const std::map<std::string_view, std::string_view> forms = {
      {"model", "a name or a path"},
      {"models", "a list of networks"},
      {"layers", "a list of [layers](#layers)"},
      {"scaling.devices", "`auto`, a count, `KIND:COUNT`, `HOSTSxCOUNT`, `{auto: counts}`, `{ids: numbers}`, or a list"},
      {"variants", "a list of `{name, set}`"},
      {"strategies", "a list; required"},
      {"when_cpu", "keys and values"},
  };
  if (std::holds_alternative<std::monostate>(key.field)) return std::string(forms.at(key.name));
  return cell(expected(key)) + (key.unit.empty() ? "" : fmt::format(", {}", key.unit));
}

std::string default_of(const Key& key) {
  if (key.name == "scaling.devices") return "`auto`";
  const std::string text = default_text(key);
  return text.empty() ? "-" : fmt::format("`{}`", text);
}

std::string table_of(std::string_view section) {
  std::string text = "\n| key | type and range | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const Key& key : keys()) {
    if (key.section() != section) continue;
    text += fmt::format("| `{}`{} | {} | {} | {} |\n", key.leaf(), key.varies ? "" : " *", type_of(key),
                        default_of(key), cell(key.help));
  }
  return text;
}

std::string layer_table() {
  std::string text(kLayersIntroduction);
  for (const LayerDescription& layer : layer_descriptions()) {
    std::vector<std::string> settings;
    for (const std::string& key : layer.keys) {
      const bool is_required = std::find(layer.required.begin(), layer.required.end(), key) != layer.required.end();
      settings.push_back(is_required ? fmt::format("**`{}`**", key) : fmt::format("`{}`", key));
    }
    text += fmt::format("| `{}` | {} | {} | {} |\n", layer.name(), cell(layer.help), fmt::join(settings, ", "),
                        layer.shorthand.empty() ? "" : fmt::format("`{}: X` is `{{{}: X}}`", layer.name(), layer.shorthand));
  }
  return text;
}

struct SettingType {
  const LayerKey& key;
  std::string range() const { return fmt::format("from {} to {}", number_text(key.min), number_text(key.max)); }
  std::string operator()(std::size_t& (*)(LayerConfig&)) const { return "a whole number " + range(); }
  std::string operator()(std::size_t* (*)(LayerConfig&)) const {
    return "a whole number or [height, width], " + range();
  }
  std::string operator()(double& (*)(LayerConfig&)) const { return "a number " + range(); }
  std::string operator()(std::optional<double>& (*)(LayerConfig&)) const { return "a number " + range(); }
  std::string operator()(bool& (*)(LayerConfig&)) const { return "true or false"; }
  std::string operator()(InitializerConfig& (*)(LayerConfig&)) const {
    return fmt::format("one of {}", fmt::join(initializers(), ", "));
  }
};

std::string setting_table() {
  std::string text(kSettingsIntroduction);
  for (const LayerKey& key : layer_keys())
    text += fmt::format("| `{}` | {} | {} |\n", key.name, std::visit(SettingType{key}, key.field), cell(key.help));
  return text;
}

}  // namespace

std::string markdown_keys() {
  std::string text(kIntroduction);
  text += "\n## Experiment\n" + table_of("");
  for (const std::string& name : names_in("")) {
    if (!is_section(name)) continue;
    text += fmt::format("\n## {}\n", name) + table_of(name);
    if (const Key* bare = bare_key(name))
      text += fmt::format("\n`{0}: VALUE` is short for `{0}: {{{1}: VALUE}}`.\n", name, bare->leaf());
  }
  return text + layer_table() + setting_table() + std::string(kNamesOfLayers) + fmt::format("\n{}\n", kRepeatHelp);
}

}  // namespace mgcompare
