#include "config/layer_hint.h"

#include <fmt/format.h>

namespace mgcompare {
namespace {

std::string text_or(const Node& node, const std::string& other) {
  return node.is(Node::Kind::scalar) && !node.text.empty() && node.text.size() <= 40 ? node.text : other;
}

}  // namespace

bool joins(LayerType type) { return type == LayerType::add || type == LayerType::concat; }

std::string hint_beside(const LayerDescription& layer, const std::string& key, const Node& value) {
  std::string text = text_or(value, key == "inputs" && joins(layer.type) ? "[name, name]" : "NAME");
  if (value.is(Node::Kind::sequence) && !value.items.empty()) {
    text.clear();
    for (const Node& item : value.items) text += (text.empty() ? "[" : ", ") + text_or(item, "name");
    text += "]";
  }
  return fmt::format("write `{}: {}` beside '{}', on the same level", key, text, layer.name());
}

std::string padding_hint(const LayerKey& key, const Node& value) {
  if (key.name != "padding" || !value.is(Node::Kind::scalar)) return "";
  if (value.text == "same") return "write the zeros on each side: (kernel - 1) / 2 of them keep the size if the stride is 1";
  return value.text == "valid" ? "write 0" : "";
}

}  // namespace mgcompare
