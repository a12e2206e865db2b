#include "config/config.h"

#include <algorithm>
#include <tuple>

#include "base/number_text.h"
#include "config/config_reader.h"
#include "config/key_value.h"
#include "config/overrides.h"
#include "config/partial_config.h"
#include "config/problem.h"
#include "config/yaml_guard.h"

namespace mgcompare {
namespace {

bool uses_cpus_only(const ScalingConfig& scaling) {
  return !scaling.automatic && std::all_of(scaling.devices.begin(), scaling.devices.end(),
                                           [](const DevicesConfig& devices) { return devices.kind == "cpu"; });
}

// Sorts by place and removes duplicates, which occur because the tree is read with and without overrides.
void sort_problems(std::vector<Problem>& problems, const std::string& path) {
  const auto order = [&](const Problem& p) {
    return std::make_tuple(p.place.file != path, std::string_view(p.place.file), p.place.line, p.place.column,
                           std::string_view(p.text));
  };
  std::sort(problems.begin(), problems.end(), [&](const Problem& a, const Problem& b) { return order(a) < order(b); });
  const auto same = [&](const Problem& a, const Problem& b) { return order(a) == order(b); };
  problems.erase(std::unique(problems.begin(), problems.end(), same), problems.end());
}

// The config must be a map. Throws ConfigError if there is no tree to read.
Node parse_root(const std::string& path, std::vector<Problem>& problems) {
  std::optional<Node> root = parse_yaml(read_text(path), path, problems);
  if (root && root->is(Node::Kind::null) && problems.empty()) {
    problems.push_back({{path, 1, 1}, "the config is empty", "see configs/lenet.yaml for an example", "", 1});
  } else if (root && !root->is(Node::Kind::map) && problems.empty()) {
    problems.push_back(
        {root->place, "a config is a section of keys, not " + describe(*root), "begin with `model: lenet`", "", 1});
  }
  if (!root || !root->is(Node::Kind::map)) throw ConfigError(std::move(problems));
  return std::move(*root);
}

}  // namespace

Config read_config(const std::string& path, const ConfigSetting& setting) { return read_config(path, setting, nullptr); }

Config read_config(const std::string& path, const ConfigSetting& setting, const FurtherCheck& further) {
  std::vector<Problem> problems;
  Node root = parse_root(path, problems);
  expand_bare_sections(root);
  std::vector<Override> overrides, cuts;
  for (const std::string& text : setting.overrides) {
    for (Override& one : parse_override(text, problems)) overrides.push_back(std::move(one));
  }
  const Node* when_cpu = root.find("when_cpu");
  if (when_cpu && !when_cpu->is(Node::Kind::null)) {
    cuts = collect_overrides(*when_cpu, OverrideOrigin::when_cpu, problems);
  }

  // Both forms are read, so that mistakes in `when_cpu` are found on every machine.
  ConfigReader reader(path, setting.share_folder, problems);
  Node tree = with_overrides(root, overrides);
  Config config = reader.read(tree);
  if (!cuts.empty()) {
    Node cut_tree = with_overrides(with_overrides(root, cuts), overrides);
    Config cut = reader.read(cut_tree);
    if (!setting.gpu || uses_cpus_only(config.scaling)) {
      tree = std::move(cut_tree);
      config = std::move(cut);
      config.cut_down_for_cpu = true;
    }
  }
  reader.read_variants(tree, config);
  reader.check_python(tree, config.python);
  for (const VariantConfig& variant : config.variants)
    if (variant.config && variant.config->python != config.python) reader.check_python(tree, variant.config->python);

  if (problems.empty()) return config;
  if (further)
    for (Problem& problem : further(config)) problems.push_back(std::move(problem));
  sort_problems(problems, path);
  throw ConfigError(std::move(problems));
}

Config apply_variant(const Config& config, const VariantConfig& variant) {
  if (variant.config) return *variant.config;
  Config result = config;
  result.variants.clear();
  return result;
}

std::vector<ModelConfig> networks_of(const Config& config) {
  return config.models.empty() ? std::vector{config.model} : config.models;
}

Config with_network(Config config, const ModelConfig& model) {
  config.model = model;
  config.models.clear();
  return config;
}

bool is_repeatable(const Config& config) { return config.deterministic || config.measure.record; }

std::optional<double> validation_share(const DataConfig& data) {
  return parse_number<double>(data.validation);
}

Place place_of_data(const Config& config, const std::string& key) {
  const auto& places = config.data.places;
  auto found = places.find(key);
  if (found == places.end()) found = places.find("");
  return found == places.end() ? Place{config.path, 0, 0} : found->second;
}

std::size_t training_samples(const DataConfig& data, std::size_t in_set) {
  const std::size_t kept = in_set - std::min(in_set, data.validation_samples);
  return data.train_samples == 0 ? kept : std::min(kept, data.train_samples);
}

}  // namespace mgcompare
