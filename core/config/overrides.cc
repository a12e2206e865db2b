#include "config/overrides.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/key_value.h"
#include "config/keys.h"

namespace mgcompare {
namespace {

Node section_of(const Key& key, const Place& place, const Node& value) {
  Node section = Node{Node::Kind::map, "", false, place, {}, {}};
  section.entries.push_back({std::string(key.leaf()), place, value});
  return section;
}

class Collector {
 public:
  Collector(OverrideOrigin origin, std::vector<Problem>& problems) : origin_(origin), problems_(problems) {}

  void collect(const Node& map, const std::string& prefix) {
    for (const Entry& entry : map.entries) {
      const std::string name = prefix + entry.key;
      if (const Key* key = find_key(name)) {
        add(*key, entry);
      } else if (is_section(name) && entry.value.is(Node::Kind::map)) {
        collect(entry.value, name + ".");
      } else if (const Key* bare = bare_key(name); bare && entry.value.is(Node::Kind::scalar)) {
        collect(section_of(*bare, entry.place, entry.value), name + ".");
      } else if (is_section(name)) {
        problem(entry.value.place,
                fmt::format("'{}' must be a section of keys, not {}", name, describe(entry.value)), "",
                width_of(entry.value));
      } else {
        unknown(entry, name);
      }
    }
  }

  std::vector<Override> take() { return std::move(overrides_); }
  std::string where() const {
    switch (origin_) {
      case OverrideOrigin::command_line:
        return "an override";
      case OverrideOrigin::when_cpu:
        return "'when_cpu'";
      case OverrideOrigin::variant:
        break;
    }
    return "a variant";
  }
  void problem(const Place& place, std::string text, std::string hint, std::size_t width) {
    problems_.push_back({place, std::move(text), std::move(hint), "", width});
  }

 private:
  void add(const Key& key, const Entry& entry) {
    const bool fixed = origin_ == OverrideOrigin::variant && !key.varies;
    const bool own_name = key.name == "name" && origin_ != OverrideOrigin::command_line;
    if (key.name == "when_cpu" || own_name || fixed) {
      problem(entry.place, fmt::format("'{}' cannot be set in {}", key.name, where()), "set it at the top of the config",
              entry.key.size());
    } else if (const auto first = std::find_if(overrides_.begin(), overrides_.end(),
                                               [&](const Override& other) { return other.name == key.name; });
               first != overrides_.end()) {
      problem(entry.place, fmt::format("key '{}' is given twice", key.name),
              fmt::format("it is already at {}:{}:{}", first->place.file, first->place.line, first->place.column), entry.key.size());
    } else {
      overrides_.push_back({std::string(key.name), entry.place, entry.value});
    }
  }

  void unknown(const Entry& entry, const std::string& name) {
    std::string hint = did_you_mean(name, all_names());
    for (const Key& other : keys()) {
      if (hint.empty() && !other.section().empty() && other.leaf() == entry.key) {
        hint = fmt::format("did you mean '{}'?", other.name);
      }
    }
    problem(entry.place, fmt::format("unknown key '{}' in {}", name.substr(0, 60), where()), hint, entry.key.size());
  }

  OverrideOrigin origin_;
  std::vector<Problem>& problems_;
  std::vector<Override> overrides_;
};

void set_place(Node& node, const Place& place) {
  node.place = place;
  for (Node& item : node.items) set_place(item, place);
  for (Entry& entry : node.entries) {
    entry.place = place;
    set_place(entry.value, place);
  }
}

void apply(Node& root, const Override& override) {
  const Key& key = *find_key(override.name);
  root.kind = Node::Kind::map;
  // One network takes the place of several, and the other way round.
  if (override.name == "model" || override.name == "models")
    std::erase_if(root.entries, [&](const Entry& entry) { return entry.key == (override.name == "model" ? "models" : "model"); });
  Node* map = &root;
  if (!key.section().empty()) {
    auto found = std::find_if(root.entries.begin(), root.entries.end(),
                              [&](const Entry& entry) { return entry.key == key.section(); });
    if (found == root.entries.end()) {
      root.entries.push_back({std::string(key.section()), override.place, Node()});
      found = root.entries.end() - 1;
    }
    if (!found->value.is(Node::Kind::map)) found->value = Node{Node::Kind::map, "", false, override.place, {}, {}};
    map = &found->value;
  }
  // The config may have written the key of a section within the section nested.
  const std::string leaf(key.leaf());
  if (const std::size_t dot = leaf.find('.'); dot != leaf.npos) {
    for (Entry& inner : map->entries)
      if (inner.key == leaf.substr(0, dot))
        std::erase_if(inner.value.entries, [&](const Entry& entry) { return entry.key == leaf.substr(dot + 1); });
  }
  std::erase_if(map->entries, [&](const Entry& entry) { return entry.key == leaf; });
  map->entries.push_back({std::string(key.leaf()), override.place, override.value});
}

}  // namespace

std::vector<Override> parse_override(const std::string& text, std::vector<Problem>& problems) {
  const Place place{"--set " + text.substr(0, 60) + (text.size() > 60 ? "..." : ""), 0, 0};
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    problems.push_back({place, "an override is KEY=VALUE", "for example optimizer.learning_rate=0.1", "", 1});
    return {};
  }
  if (text.find_first_not_of(" \t", equals + 1) == std::string::npos) {
    problems.push_back({place, "the value is missing", "an override is KEY=VALUE", "", 1});
    return {};
  }
  std::vector<Problem> syntax;
  std::optional<Node> value = parse_yaml(text.substr(equals + 1), place.file, syntax);
  for (Problem& problem : syntax) {
    problem.place = place;
    problems.push_back(std::move(problem));
  }
  if (!value) return {};
  set_place(*value, place);
  Node map = Node{Node::Kind::map, "", false, place, {}, {}};
  map.entries.push_back({text.substr(0, equals), place, std::move(*value)});
  return collect_overrides(map, OverrideOrigin::command_line, problems);
}

std::vector<Override> collect_overrides(const Node& map, OverrideOrigin origin, std::vector<Problem>& problems) {
  Collector collector(origin, problems);
  if (map.is(Node::Kind::map)) {
    collector.collect(map, "");
  } else {
    collector.problem(map.place, fmt::format("{} must be a section of keys, not {}", collector.where(), describe(map)),
                      "", width_of(map));
  }
  return collector.take();
}

Node with_overrides(Node root, const std::vector<Override>& overrides) {
  for (const Override& override : overrides) apply(root, override);
  return root;
}

void expand_bare_sections(Node& root) {
  for (Entry& entry : root.entries) {
    const Key* key = bare_key(entry.key);
    if (key && entry.value.is(Node::Kind::scalar)) entry.value = section_of(*key, entry.value.place, entry.value);
  }
}

}  // namespace mgcompare
