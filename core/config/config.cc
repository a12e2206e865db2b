#include "config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "config/config_reader.h"
#include "config/config_tree.h"
#include "config/keys.h"
#include "config/problem.h"
#include "config/yaml_guard.h"

namespace mgcompare {
namespace {

void forget_places(Node& node, const Place& place) {
  node.place = place;
  for (Node& item : node.items) forget_places(item, place);
  for (Entry& entry : node.entries) {
    entry.place = place;
    forget_places(entry.value, place);
  }
}

// "key=value" of the command line. Its value is YAML, so that lists can be given.
void read_override(const std::string& text, ConfigReader& reader, std::vector<Problem>& problems,
                   std::vector<Override>& overrides) {
  const Place place{"--set " + text.substr(0, 60), 0, 0};
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    problems.push_back({place, "an override is KEY=VALUE", "for example optimizer.learning_rate=0.1"});
    return;
  }
  if (text.find_first_not_of(" \t", equals + 1) == std::string::npos) {
    problems.push_back({place, "the value is missing", "an override is KEY=VALUE"});
    return;
  }
  std::vector<Problem> broken;
  std::optional<Node> value = parse_yaml(text.substr(equals + 1), place.file, broken);
  for (Problem& problem : broken) {
    problem.place = place;
    problems.push_back(std::move(problem));
  }
  if (!value) return;
  forget_places(*value, place);
  Node map;
  map.kind = Node::Kind::map;
  map.place = place;
  map.entries.push_back({text.substr(0, equals), place, std::move(*value)});
  if (map.entries[0].key == "name") {
    overrides.push_back({"name", place, map.entries[0].value});
    return;
  }
  for (Override& one : reader.overrides(map, "an override", false)) overrides.push_back(std::move(one));
}

Node with(Node root, const std::vector<Override>& overrides) {
  for (const Override& one : overrides) set_value(root, one);
  return root;
}

bool asks_for_cpu_only(const ScalingConfig& scaling) {
  return !scaling.automatic && std::all_of(scaling.devices.begin(), scaling.devices.end(),
                                           [](const DevicesConfig& devices) { return devices.kind == "cpu"; });
}

// Each once, in the order of the file: the same tree is read with and without overrides.
void tidy(std::vector<Problem>& problems, const std::string& path) {
  const auto order = [&](const Problem& p) {
    return std::make_tuple(p.place.file != path, std::string_view(p.place.file), p.place.line, p.place.column,
                           std::string_view(p.text));
  };
  std::sort(problems.begin(), problems.end(), [&](const Problem& a, const Problem& b) { return order(a) < order(b); });
  const auto same = [&](const Problem& a, const Problem& b) { return order(a) == order(b); };
  problems.erase(std::unique(problems.begin(), problems.end(), same), problems.end());
}

void check_variants(const Node& root, const std::vector<VariantConfig>& variants, ConfigReader& reader) {
  const Node* list = root.find("variants");
  if (!list) return;
  for (const Node& item : list->items) {
    const Node* set = item.find("set");
    const Node* name = item.find("name");
    const bool read = name && std::any_of(variants.begin(), variants.end(),
                                          [&](const VariantConfig& variant) { return variant.name == name->text; });
    if (read && set) reader.read(with(root, reader.overrides(*set, "a variant", true)));
  }
}

}  // namespace

Config read_config(const std::string& path, const ConfigSetting& setting) {
  std::vector<Problem> problems;
  std::optional<Node> root = parse_yaml(read_text(path), path, problems);
  if (root && root->is(Node::Kind::null) && problems.empty()) {
    problems.push_back({{path, 1, 1}, "the config is empty", "see configs/lenet.yaml for one that works"});
  } else if (root && !root->is(Node::Kind::map) && problems.empty()) {
    problems.push_back({root->place, "a config is a section of keys, not " + said(*root), "begin with `model: lenet`"});
  }
  if (!root || !root->is(Node::Kind::map)) throw ConfigError(std::move(problems));

  open_bare_sections(*root);
  ConfigReader reader(path, setting.share_folder, problems);
  std::vector<Override> overrides;
  for (const std::string& text : setting.overrides) read_override(text, reader, problems, overrides);
  std::vector<Override> cuts;
  const Node* when_cpu = root->find("when_cpu");
  if (when_cpu && !when_cpu->is(Node::Kind::null)) cuts = reader.overrides(*when_cpu, "'when_cpu'", false);

  const Node plain = with(*root, overrides);
  const Node cut = with(with(*root, cuts), overrides);
  Config config = reader.read(plain);
  const bool cut_down = !cuts.empty() && (!setting.gpu || asks_for_cpu_only(config.scaling));
  if (!cuts.empty()) {
    Config without_gpu = reader.read(cut);
    if (cut_down) config = std::move(without_gpu);
  }
  config.cut_down_for_cpu = cut_down;
  const Node& chosen = cut_down ? cut : plain;
  config.variants = reader.read_variants(chosen.find("variants"));
  check_variants(chosen, config.variants, reader);

  for (std::string& plugin : config.plugin_paths) {
    plugin = std::filesystem::absolute(std::filesystem::path(path).parent_path() / plugin).lexically_normal().string();
  }
  tidy(problems, path);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  return config;
}

Config apply_variant(const Config& config, const VariantConfig& variant) {
  std::vector<Problem> problems;
  Node root = to_node(resolved_tree(config));
  std::erase_if(root.entries, [](const Entry& entry) { return entry.key == "variants"; });
  for (const auto& [name, text] : variant.overrides) {
    if (const auto value = parse_yaml(text, variant.place.file, problems))
      set_value(root, {name, variant.place, *value});
  }
  Config result = ConfigReader(config.path, "", problems).read(root);
  result.cut_down_for_cpu = config.cut_down_for_cpu;
  // Options keep their places, which the tree does not carry: a variant leaves strategies as they are.
  result.strategies = config.strategies;
  result.scaling.devices =
      variant.overrides.contains("scaling.devices") ? result.scaling.devices : config.scaling.devices;
  if (!problems.empty()) throw ConfigError(std::move(problems));
  return result;
}

bool is_repeatable(const Config& config) { return config.deterministic || config.measure.record; }

std::size_t training_samples(const DataConfig& data, std::size_t in_set) {
  const std::size_t kept = in_set - std::min(in_set, data.validation_samples);
  return data.train_samples == 0 ? kept : std::min(kept, data.train_samples);
}

}  // namespace mgcompare
