// The text of `mgcompare config --explain`, from the tables of keys.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <variant>

#include "config/key_value.h"
#include "config/keys.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

std::string explain_layers() {
  std::string text;
  for (const LayerDescription& layer : layer_descriptions()) {
    text += fmt::format("    {:<19} {}", layer.name(), layer.help);
    if (!layer.keys.empty()) text += fmt::format(" Settings: {}", fmt::join(layer.keys, ", "));
    if (!layer.required.empty()) text += fmt::format("; needs {}", fmt::join(layer.required, " and "));
    if (!layer.shorthand.empty()) text += fmt::format("; `{}: X` means {{{}: X}}", layer.name(), layer.shorthand);
    text += layer.keys.empty() ? "\n" : ".\n";
  }
  text += "  settings:\n";
  for (const LayerKey& key : layer_keys()) {
    text += fmt::format("    {:<13} {}", key.name, key.help);
    if (key.max > 0) text += fmt::format(" From {:.7g} to {:.7g}.", key.min, key.max);
    if (key.name == "weights") text += fmt::format(" Names: {}.", fmt::join(initializers(), ", "));
    text += "\n";
  }
  return text + "  beside a layer: `name: X` names it, and `inputs: [X, Y]` names the layers that it reads instead of the one "
                "before it; `input` is the sample\n" +
         fmt::format("  blocks: {}\n", kRepeatHelp);
}

}  // namespace

std::string explain_keys(std::string_view prefix) {
  std::string text;
  for (const Key& key : keys()) {
    if (!key.name.starts_with(prefix)) continue;
    text += std::string(key.name) + "\n    " + std::string(key.help) + "\n";
    if (key.name == "layers") text += explain_layers();
    if (std::holds_alternative<std::monostate>(key.field)) continue;
    const std::string default_value = default_text(key);
    text += "    " + expected(key) + (key.unit.empty() ? "" : fmt::format(", {}", key.unit)) +
            (default_value.empty() ? "" : fmt::format("; default {}", default_value)) + "\n";
  }
  if (!text.empty()) return text;
  const std::string nearest = did_you_mean(prefix, all_names());
  throw Error(fmt::format("there is no key '{}'; {}", prefix,
                          nearest.empty() ? "`mgcompare config --explain` lists them all" : nearest));
}

}  // namespace mgcompare
