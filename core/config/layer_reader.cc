// Reads `layers:`; the layers of a block are read once for each of its copies.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/config_reader.h"
#include "config/key_value.h"
#include "config/keys.h"
#include "config/layer_hint.h"
#include "config/layer_setting.h"

namespace mgcompare {
namespace {

// The key of a block.
constexpr std::string_view kRepeat = "repeat";
constexpr std::size_t kMaxName = 64, kMaxCopies = 1000, kMaxLayers = 10'000;

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const LayerDescription& layer : layer_descriptions()) names.emplace_back(layer.name());
  names.emplace_back(kRepeat);
  return names;
}

bool is_pool(LayerType type) { return type == LayerType::max_pool || type == LayerType::average_pool; }

// The names of the layers of one copy of a block, or of the whole network.
struct Scope {
  std::string prefix;               // "stage.2."
  std::string input = "input";      // the layer that `input` names
  std::map<std::string, std::string> layers;  // name in the block -> whole name
  std::map<LayerType, int> count;
  int blocks = 0;
  bool empty = true;                // no layer was read yet
};

class LayerReader {
 public:
  explicit LayerReader(std::vector<Problem>& problems) : problems_(problems) {}

  std::vector<LayerConfig> read(const Node& list) {
    if (!list.is(Node::Kind::sequence) || list.items.empty()) {
      problem(list.place, "'layers' must be a list of layers, not " + describe(list), "begin each with '- '",
              width_of(list));
      return {};
    }
    read_items(list);
    return std::move(layers_);
  }

 private:
  void problem(const Place& place, std::string text, std::string hint = "", std::size_t width = 1,
               std::string note = "") {
    problems_.push_back({place, std::move(text), std::move(hint), std::move(note), width});
  }

  void unknown_type(const Place& place, const std::string& name) {
    problem(place, fmt::format("there is no layer '{}'", name.substr(0, 40)),
            did_you_mean(name, type_names()),
            name.size(), "layers: " + listed(type_names()));
  }

  void read_items(const Node& list) {
    for (const Node& item : list.items) {
      if (layers_.size() > kMaxLayers) return;
      if (const Node* block = item.is(Node::Kind::map) ? item.find(std::string(kRepeat)) : nullptr) {
        read_block(item, *block);
      } else if (item.is(Node::Kind::scalar) && item.text == kRepeat) {
        problem(item.place, "'repeat' takes settings by name", "write repeat: {times: 3, layers: [...]}", kRepeat.size());
      } else {
        read_layer(item);
      }
    }
  }

  void read_block(const Node& item, const Node& block) {
    const Node* list = nullptr;
    std::size_t times = 0;
    std::string name = fmt::format("{}{}", kRepeat, ++scope_.blocks);
    std::string input = scope_.empty ? scope_.input : layers_.back().name;
    const std::size_t before = problems_.size();
    for (const Entry& entry : item.entries) {
      LayerConfig reader;
      if (entry.key == "inputs") {
        read_inputs(entry.value, reader);
        if (reader.inputs.size() > 1) problem(entry.value.place, "a block takes one input", "join several with add or concat");
        if (!reader.inputs.empty()) input = reader.inputs.front();
      } else if (entry.key != kRepeat) {
        const std::vector<std::string> beside = {std::string(kRepeat), "inputs"};
        problem(entry.place, fmt::format("unknown key '{}' beside 'repeat'", entry.key.substr(0, 40)), did_you_mean(entry.key, beside),
                entry.key.size(), "allowed here: " + listed(beside));
      }
    }
    read_block_settings(item, block, times, name, list);
    if (scope_.layers.contains(name)) problem(item.place, fmt::format("the name '{}' is taken", name), "give this block another `name:`");
    for (std::size_t copy = 1; copy <= times && problems_.size() == before; ++copy) {
      Scope inner;
      inner.prefix = fmt::format("{}{}.{}.", scope_.prefix, name, copy);
      inner.input = copy == 1 ? input : layers_.back().name;
      std::swap(inner, scope_);
      read_items(*list);
      std::swap(inner, scope_);
      for (const auto& [local, whole] : inner.layers) scope_.layers[fmt::format("{}.{}.{}", name, copy, local)] = whole;
      scope_.empty = false;
    }
    if (problems_.size() == before) scope_.layers[name] = layers_.back().name;
  }

  void read_block_settings(const Node& item, const Node& block, std::size_t& times, std::string& name, const Node*& list) {
    if (!block.is(Node::Kind::map)) {
      return problem(item.place, "'repeat' takes settings by name, not " + describe(block),
                     "write repeat: {times: 3, layers: [...]}", kRepeat.size());
    }
    for (const Entry& entry : block.entries) {
      const std::vector<std::string> allowed = {"times", "name", "layers"};
      const Node& value = entry.value;
      if (entry.key == "times") {
        read_count({"times", "", {}, 1, kMaxCopies}, value, times, problems_);
      } else if (entry.key == "name" && is_name(value, kMaxName) && value.text != "input") {
        name = value.text;
      } else if (entry.key == "name") {
        problem(value.place, fmt::format("a block's name has 1 to {} characters and is not 'input'", kMaxName), "", width_of(value));
      } else if (entry.key == "layers" && value.is(Node::Kind::sequence) && !value.items.empty()) {
        list = &value;
      } else if (entry.key == "layers") {
        problem(value.place, "'layers' must be a list of layers, not " + describe(value), "begin each with '- '", width_of(value));
      } else {
        problem(entry.place, fmt::format("unknown key '{}' in 'repeat'", entry.key.substr(0, 40)), did_you_mean(entry.key, allowed),
                entry.key.size(), "allowed here: " + listed(allowed));
      }
    }
    for (const char* key : {"times", "layers"}) {
      if (block.find(key) == nullptr)
        problem(item.place, fmt::format("'repeat' needs '{}'", key), "write repeat: {times: 3, layers: [...]}", kRepeat.size());
    }
  }

  void read_layer(const Node& item) {
    LayerConfig layer;
    const std::size_t before = problems_.size();
    const LayerDescription* type = nullptr;
    const auto begin = [&] {
      layer = default_layer(type->type);
      layer.place = item.place;
      if (is_pool(layer.type)) layer.stride[0] = 0;  // until it is read
    };
    if (item.is(Node::Kind::scalar)) {
      type = find_layer(item.text);
      if (!type) return unknown_type(item.place, item.text);
      begin();
      require(*type, Node(), layer);
    } else if (item.is(Node::Kind::map)) {
      type = find_type(item);
      if (!type) return;
      begin();
      for (const Entry& entry : item.entries) read_entry(entry, *type, layer);
    } else {
      return problem(item.place, "a layer is a name or a name with settings, not " + describe(item), "", width_of(item));
    }
    // Inputs that could not be read have been reported.
    if (problems_.size() == before) check_inputs(*type, layer);
    finish(layer);
  }

  void check_inputs(const LayerDescription& type, const LayerConfig& layer) {
    if (!joins(type.type) || layer.inputs.size() > 1) return;
    problem(layer.place, fmt::format("'{}' needs two inputs or more", type.name()),
            fmt::format("write `inputs: [name, name]` beside '{}'", type.name()), type.name().size(),
            fmt::format("names are those of layers before (`name: X` beside a layer gives one): {}", listed(input_names())));
  }

  // What `inputs` may name here.
  std::vector<std::string> input_names() const {
    std::vector<std::string> names;
    for (const auto& [name, whole] : scope_.layers) names.push_back(name);
    names.emplace_back("input");
    return names;
  }

  const LayerDescription* find_type(const Node& item) {
    const LayerDescription* found = nullptr;
    for (const Entry& entry : item.entries) {
      const LayerDescription* type = find_layer(entry.key);
      if (type && found) {
        problem(entry.place, fmt::format("'{}' and '{}' are one item of the list", found->name(), type->name()),
                "begin each layer with '- '", entry.key.size());
        return nullptr;
      }
      if (type) found = type;
    }
    if (!found && !item.entries.empty()) {
      const auto first = std::find_if(item.entries.begin(), item.entries.end(),
                                      [](const Entry& entry) { return entry.key != "name" && entry.key != "inputs"; });
      const Entry& entry = first == item.entries.end() ? item.entries.front() : *first;
      unknown_type(entry.place, entry.key);
    } else if (!found) {
      problem(item.place, "this layer is empty", "name one, or delete the line");
    }
    return found;
  }

  void read_entry(const Entry& entry, const LayerDescription& type, LayerConfig& layer) {
    if (entry.key == type.name()) return read_settings(entry.value, type, layer);
    if (entry.key == "inputs") return read_inputs(entry.value, layer);
    if (entry.key == "name") {
      const Node& value = entry.value;
      if (!is_name(value, kMaxName)) {
        return problem(value.place, fmt::format("a layer's name has 1 to {} characters, and neither begins nor ends with a blank", kMaxName), "",
                       width_of(value));
      }
      layer.name = value.text;
      return;
    }
    if (find_layer_key(entry.key)) {
      return problem(entry.place, fmt::format("'{}' is on the same level as '{}'", entry.key, type.name()),
                     fmt::format("indent it further than '{}'", type.name()), entry.key.size());
    }
    const std::vector<std::string> beside = {std::string(type.name()), "name", "inputs"};
    problem(entry.place, fmt::format("unknown key '{}' beside '{}'", entry.key.substr(0, 40), type.name()),
            did_you_mean(entry.key, beside), entry.key.size(), "allowed here: " + listed(beside));
  }

  void read_inputs(const Node& node, LayerConfig& layer) {
    std::vector<const Node*> items = {&node};
    if (node.is(Node::Kind::sequence)) {
      items.clear();
      for (const Node& item : node.items) items.push_back(&item);
    }
    for (const Node* item : items) {
      if (!item->is(Node::Kind::scalar)) {
        problem(item->place, "an input is the name of a layer, not " + describe(*item), "", width_of(*item));
      } else if (!scope_.layers.contains(item->text) && item->text != "input") {
        const std::vector<std::string> names = input_names();
        problem(item->place, fmt::format("no layer before this one is called '{}'", item->text.substr(0, 40)),
                did_you_mean(item->text, names), item->text.size(), "layers before: " + listed(names));
      } else {
        layer.inputs.push_back(item->text == "input" ? scope_.input : scope_.layers.at(item->text));
      }
    }
  }

  void read_settings(const Node& node, const LayerDescription& type, LayerConfig& layer) {
    if (node.is(Node::Kind::null)) return require(type, node, layer);
    if (!node.is(Node::Kind::map)) {
      if (!type.shorthand.empty()) return read_setting(*find_layer_key(type.shorthand), node, layer, problems_);
      std::string hint = type.required.empty() ? fmt::format("write `- {}`", type.name()) : "";
      if (joins(type.type)) hint = hint_beside(type, "inputs", node);
      return problem(node.place, fmt::format("'{}' takes settings by name, not {}", type.name(), describe(node)), hint,
                     width_of(node), type.keys.empty() ? "it has no settings" : "settings: " + listed(type.keys));
    }
    for (const Entry& entry : node.entries) {
      if (entry.key == "inputs" || entry.key == "name") {
        problem(entry.place, fmt::format("'{}' is not a setting of '{}', but belongs beside it", entry.key, type.name()),
                hint_beside(type, entry.key, entry.value), entry.key.size());
      } else if (std::find(type.keys.begin(), type.keys.end(), entry.key) == type.keys.end()) {
        problem(entry.place, fmt::format("unknown key '{}' in '{}'", entry.key.substr(0, 40), type.name()),
                did_you_mean(entry.key, type.keys), entry.key.size(),
                type.keys.empty() ? "it has no settings" : "allowed here: " + listed(type.keys));
      } else if (!entry.value.is(Node::Kind::null)) {
        read_setting(*find_layer_key(entry.key), entry.value, layer, problems_);
      }
    }
    require(type, node, layer);
  }

  void require(const LayerDescription& type, const Node& node, const LayerConfig& layer) {
    for (const std::string& key : type.required) {
      const Node* value = node.find(key);
      if (value && !value->is(Node::Kind::null)) continue;
      problem(layer.place, fmt::format("'{}' needs '{}'", type.name(), key),
              type.shorthand.empty() ? fmt::format("write {}: {{{}: ...}}", type.name(), key)
                                     : fmt::format("write {}: NUMBER", type.name()),
              type.name().size());
    }
  }

  void finish(LayerConfig& layer) {
    if (is_pool(layer.type) && layer.stride[0] == 0) std::copy(layer.kernel, layer.kernel + 2, layer.stride);
    const int number = ++scope_.count[layer.type];
    if (layer.name.empty()) layer.name = fmt::format("{}{}", to_string(layer.type), number);
    const std::string name = scope_.prefix + layer.name;
    if (layer.name == "input" || scope_.layers.contains(layer.name) || !known_.insert(name).second) {
      problem(layer.place, fmt::format("the name '{}' is taken", layer.name), "give this layer another `name:`");
    }
    if (!scope_.prefix.empty() && name.size() > kMaxName) {
      problem(layer.place, fmt::format("the layer's name with those of its blocks, '{}', has more than {} characters", name, kMaxName),
              "give them shorter names");
    }
    scope_.layers[layer.name] = name;
    layer.name = name;
    // The first layer of a block reads the block's input, which is not always the layer before it.
    if (scope_.empty && layer.inputs.empty() && scope_.input != (layers_.empty() ? "input" : layers_.back().name))
      layer.inputs = {scope_.input};
    scope_.empty = false;
    layers_.push_back(std::move(layer));
    if (layers_.size() == kMaxLayers + 1) {
      problem(layers_.back().place, fmt::format("the network has more than {} layers", kMaxLayers), "repeat blocks less often");
    }
  }

  std::vector<Problem>& problems_;
  std::vector<LayerConfig> layers_;
  std::set<std::string> known_;     // whole names
  Scope scope_;
};

}  // namespace

std::vector<LayerConfig> read_layers(const Node& list, std::vector<Problem>& problems) {
  return LayerReader(problems).read(list);
}

}  // namespace mgcompare
