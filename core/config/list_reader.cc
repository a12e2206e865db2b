// Reads `strategies:` and `variants:`.

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

#include "config/config_reader.h"
#include "config/key_value.h"
#include "config/overrides.h"

namespace mgcompare {
namespace {

constexpr std::size_t kMaxLabel = 80;
constexpr char kVariantForm[] = "write {name: X, set: {optimizer.learning_rate: 0.07}}";

}  // namespace

void ConfigReader::read_strategies(const Node* list, Config& config) {
  if (!list || !list->is(Node::Kind::sequence) || list->items.empty()) {
    return problem(list ? list->place : Place{path_, 1, 1},
                   list ? "'strategies' must be a list of strategies, not " + describe(*list) : "'strategies' is missing",
                   "list what to compare, each as `- NAME`");
  }
  for (const Node& item : list->items) {
    StrategyConfig strategy = read_strategy(item);
    if (strategy.name.empty()) continue;
    const auto same = std::find_if(config.strategies.begin(), config.strategies.end(),
                                   [&](const StrategyConfig& other) { return other.label == strategy.label; });
    if (same != config.strategies.end()) {
      problem(item.place, fmt::format("two strategies are called '{}'", strategy.label),
              "name this one with an option `as: LABEL`", strategy.label.size());
    }
    config.strategies.push_back(std::move(strategy));
  }
}

bool is_strategy_name(const std::string& name) {
  static const std::regex form("[A-Za-z0-9_-]{1,64}");
  return name.size() <= 64 && std::regex_match(name, form);
}

StrategyConfig ConfigReader::read_strategy(const Node& node) {
  StrategyConfig strategy;
  strategy.place = node.place;
  const bool mapped = node.is(Node::Kind::map) && !node.entries.empty();
  if (!mapped && !node.is(Node::Kind::scalar)) {
    problem(node.place, "a strategy is a name, or a name with options, not " + describe(node), "", width_of(node));
    return strategy;
  }
  const std::string& name = mapped ? node.entries[0].key : node.text;
  if (!is_strategy_name(name)) {
    problem(node.place, fmt::format("'{}' cannot be a strategy's name", name.substr(0, 40)), "", name.size());
    return strategy;
  }
  if (mapped && node.entries.size() > 1) {
    problem(node.entries[1].place, fmt::format("'{}' is on the same level as '{}'", node.entries[1].key.substr(0, 40), name),
            fmt::format("indent an option further than '{}', or begin another strategy with '- '", name),
            node.entries[1].key.size());
  }
  strategy.name = strategy.label = name;
  if (mapped) read_options(node.entries[0].value, strategy);
  return strategy;
}

void ConfigReader::read_options(const Node& node, StrategyConfig& strategy) {
  if (node.is(Node::Kind::null)) return;
  if (!node.is(Node::Kind::map)) {
    return problem(node.place,
                   fmt::format("the options of '{}' are keys with values, not {}", strategy.name, describe(node)),
                   fmt::format("write {}: {{option: value}}", strategy.name), width_of(node));
  }
  for (const Entry& entry : node.entries) {
    const Node& value = entry.value;
    if (value.is(Node::Kind::null)) continue;
    if (!value.is(Node::Kind::scalar)) {
      problem(value.place, fmt::format("'{}' of '{}' must be a single value, not {}", entry.key.substr(0, 40),
                                       strategy.name, describe(value)));
    } else if (entry.key == "as") {
      if (!is_name(value, kMaxLabel)) {
        problem(value.place, fmt::format("a label has 1 to {} characters, and neither begins nor ends with a blank", kMaxLabel), "", width_of(value));
      } else {
        strategy.label = value.text;
      }
    } else {
      std::string why;
      if (!value.quoted && !as_number(value, why) && !why.empty()) {
        problem(value.place,
                fmt::format("'{}' of '{}' cannot be {}", entry.key.substr(0, 40), strategy.name, describe(value)),
                why + "; if it is a text, write it in quotes",
                width_of(value));
      }
      strategy.options.push_back({entry.key, value.text, value.quoted, value.place, entry.place});
    }
  }
}

void ConfigReader::read_variants(const Node& root, Config& config) {
  const Node* list = root.find("variants");
  if (!list || list->is(Node::Kind::null)) return;
  if (!list->is(Node::Kind::sequence)) {
    return problem(list->place, "'variants' must be a list, not " + describe(*list), kVariantForm, width_of(*list));
  }
  std::set<std::string> names;
  for (const Node& item : list->items) {
    if (!read_variant_name(item, names)) continue;
    const Node& name = *item.find("name");
    const Node* set = item.find("set");
    if (!set || !set->is(Node::Kind::map) || set->entries.empty()) {
      problem(item.place, fmt::format("variant '{}' sets nothing", name.text), kVariantForm);
      continue;
    }
    VariantConfig variant{name.text, {}, item.place, nullptr};
    const std::vector<Override> overrides = collect_overrides(*set, OverrideOrigin::variant, problems_);
    for (const Override& one : overrides) variant.overrides[one.name] = to_flow(one.value);
    auto version = std::make_shared<Config>(read(with_overrides(root, overrides)));
    version->cut_down_for_cpu = config.cut_down_for_cpu;
    variant.config = std::move(version);
    config.variants.push_back(std::move(variant));
  }
}

bool ConfigReader::read_variant_name(const Node& item, std::set<std::string>& names) {
  for (const Entry& entry : item.entries) {
    if (entry.key == "name" || entry.key == "set") continue;
    problem(entry.place, fmt::format("unknown key '{}' in a variant", entry.key.substr(0, 60)),
            did_you_mean(entry.key, {"name", "set"}), entry.key.size(), "allowed here: name and set");
  }
  const Node* name = item.find("name");
  if (!name || !is_name(*name, kMaxLabel)) {
    problem(name ? name->place : item.place, "a variant needs a name " + name_form(kMaxLabel), kVariantForm, name ? width_of(*name) : 1);
    return false;
  }
  if (name->text == "base" || !names.insert(name->text).second) {
    problem(name->place, fmt::format("the name '{}' is taken", name->text), "give this variant another",
            width_of(*name));
  }
  return true;
}

}  // namespace mgcompare
