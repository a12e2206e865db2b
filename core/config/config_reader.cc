#include "config/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "config/keys.h"

namespace mgcompare {
namespace {

constexpr std::size_t kLongestName = 200;
constexpr std::size_t kMostDevices = 4096;

// Stores one value into the field of its key, or says why not.
class Store {
 public:
  Store(const Key& key, const Node& node, Config& config, std::vector<Problem>& problems)
      : key_(key), node_(node), config_(config), problems_(problems) {}

  void operator()(std::monostate) {}
  template <class T>
  void operator()(T& (*field)(Config&)) {
    if (std::optional<T> value = one<T>(node_)) field(config_) = *value;
  }
  template <class T>
  void operator()(std::vector<T>& (*field)(Config&)) {
    std::vector<T> values;
    if (node_.is(Node::Kind::sequence)) {
      for (const Node& item : node_.items) {
        std::optional<T> value = one<T>(item);
        if (value && std::find(values.begin(), values.end(), *value) != values.end()) {
          complain(item, fmt::format("{} is given twice in '{}'", item.text, key_.name), "delete one of them");
        } else if (value) {
          values.push_back(*value);
        }
      }
    } else if (std::optional<T> value = one<T>(node_)) {
      values.push_back(*value);
    }
    const bool may_be_empty = field(config_).empty();
    if (node_.is(Node::Kind::sequence) && node_.items.empty() && !may_be_empty) {
      complain(node_, fmt::format("'{}' is an empty list", key_.name), "give at least one value");
    }
    if (!values.empty() || may_be_empty) field(config_) = std::move(values);
  }

 private:
  void complain(const Node& node, std::string text, std::string hint) {
    problems_.push_back({node.place, std::move(text), std::move(hint), "", width_of(node)});
  }
  template <class T>
  std::optional<T> refuse(const Node& node, const std::string& why) {
    complain(node, fmt::format("'{}' must be {}, not {}", key_.name, expected(key_), said(node)), why);
    return std::nullopt;
  }

  template <class T>
  std::optional<T> one(const Node& node) {
    std::string why;
    if constexpr (std::is_same_v<T, bool>) {
      const std::optional<bool> value = as_flag(node, why);
      return value ? value : refuse<T>(node, why);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!node.is(Node::Kind::scalar) || node.text.size() > kLongestName) return refuse<T>(node, "");
      const auto& allowed = key_.choices;
      const bool fits =
          allowed.empty() ? !node.text.empty() : std::find(allowed.begin(), allowed.end(), node.text) != allowed.end();
      return fits ? std::optional<T>(node.text) : refuse<T>(node, did_you_mean(node.text, allowed));
    } else {
      std::optional<T> value;
      if constexpr (std::is_same_v<T, double>)
        value = as_number(node, why);
      else
        value = as_count(node, why);
      if (value && static_cast<double>(*value) >= key_.least && static_cast<double>(*value) <= key_.most) return value;
      return refuse<T>(node, why);
    }
  }

  const Key& key_;
  const Node& node_;
  Config& config_;
  std::vector<Problem>& problems_;
};

std::vector<std::string> models_in(const std::vector<std::string>& folders) {
  std::set<std::string> names;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
      if (file.path().extension() == ".yaml") names.insert(file.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace

std::string said(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::sequence:
      return node.items.empty() ? "an empty list" : "a list";
    case Node::Kind::map:
      return "a section of keys";
    case Node::Kind::scalar:
      break;
  }
  return node.text.size() > 40 ? fmt::format("'{}...'", node.text.substr(0, 40)) : fmt::format("'{}'", node.text);
}

std::size_t width_of(const Node& node) {
  return node.is(Node::Kind::scalar) ? node.text.size() + (node.quoted ? 2 : 0) : 1;
}

void open_bare_sections(Node& root) {
  for (Entry& entry : root.entries) {
    const Key* key = bare_key(entry.key);
    if (key == nullptr || !entry.value.is(Node::Kind::scalar)) continue;
    Node section = Node{Node::Kind::map, "", false, entry.value.place, {}, {}};
    section.entries.push_back({std::string(key->leaf()), entry.value.place, entry.value});
    entry.value = std::move(section);
  }
}

void set_value(Node& root, const Override& override) {
  const Key& key = *find_key(override.name);
  root.kind = Node::Kind::map;
  Node* place = &root;
  if (!key.section().empty()) {
    auto found = std::find_if(root.entries.begin(), root.entries.end(),
                              [&](const Entry& entry) { return entry.key == key.section(); });
    if (found == root.entries.end()) {
      root.entries.push_back({std::string(key.section()), override.place, Node()});
      found = root.entries.end() - 1;
    }
    if (!found->value.is(Node::Kind::map)) found->value = Node{Node::Kind::map, "", false, override.place, {}, {}};
    place = &found->value;
  }
  std::erase_if(place->entries, [&](const Entry& entry) { return entry.key == key.leaf(); });
  place->entries.push_back({std::string(key.leaf()), override.place, override.value});
}

ConfigReader::ConfigReader(std::string config_path, std::string share_folder, std::vector<Problem>& problems)
    : path_(std::move(config_path)), share_folder_(std::move(share_folder)), problems_(problems) {}

void ConfigReader::problem(const Place& place, std::string text, std::string hint, std::size_t width,
                           std::string note) {
  problems_.push_back({place, std::move(text), std::move(hint), std::move(note), width});
}

Config ConfigReader::read(const Node& root) {
  Config config;
  config.path = path_;
  config.name = std::filesystem::path(path_).stem().string();
  check_names(root);
  for (const Key& key : keys()) read_field(root, key, config);
  read_model(root, config);
  const Node* scaling = root.find("scaling");
  if (const Node* devices = scaling ? scaling->find("devices") : nullptr) read_devices(*devices, config.scaling);
  read_strategies(root.find("strategies"), config);
  check_together(root, config);
  apply_level(config);
  return config;
}

void ConfigReader::check_names(const Node& root) {
  const auto check = [&](const Node& map, std::string_view section) {
    const std::vector<std::string> allowed = names_in(section);
    for (const Entry& entry : map.entries) {
      if (std::find(allowed.begin(), allowed.end(), entry.key) != allowed.end()) continue;
      std::string hint = did_you_mean(entry.key, allowed);
      if (section.empty() && find_key(entry.key)) {
        const Key& key = *find_key(entry.key);
        hint = fmt::format("write {}: {{{}: ...}}", key.section(), key.leaf());
      }
      for (const Key& key : keys()) {
        if (hint.empty() && key.leaf() == entry.key)
          hint = fmt::format(
              "'{}' belongs {}", entry.key,
              key.section().empty() ? "at the top, not in a section" : fmt::format("in '{}'", key.section()));
      }
      problem(entry.place,
              fmt::format("unknown key '{}'{}", entry.key.substr(0, 60),
                          section.empty() ? "" : fmt::format(" in '{}'", section)),
              hint, entry.key.size(), "allowed here: " + listed(allowed));
    }
  };
  check(root, "");
  for (const Entry& entry : root.entries) {
    if (!is_section(entry.key) || entry.value.is(Node::Kind::null)) continue;
    if (entry.value.is(Node::Kind::map)) {
      check(entry.value, entry.key);
    } else {
      problem(entry.value.place, fmt::format("'{}' must be a section of keys, not {}", entry.key, said(entry.value)),
              "", width_of(entry.value), "keys: " + listed(names_in(entry.key)));
    }
  }
}

void ConfigReader::read_field(const Node& root, const Key& key, Config& config) {
  const Node* map = key.section().empty() ? &root : root.find(key.section());
  const Node* node = map ? map->find(key.leaf()) : nullptr;
  if (node && !node->is(Node::Kind::null)) std::visit(Store(key, *node, config, problems_), key.field);
}

void ConfigReader::read_model(const Node& root, Config& config) {
  const Node* layers = root.find("layers");
  const Node* model = root.find("model");
  if (layers && layers->is(Node::Kind::null)) layers = nullptr;
  if (model && model->is(Node::Kind::null)) model = nullptr;
  if (model && (!model->is(Node::Kind::scalar) || model->text.empty() || model->text.size() > kLongestName)) {
    return problem(model->place, "'model' must be a network's name, not " + said(*model),
                   "a network of one's own stands under `layers:`, beside the other keys", width_of(*model));
  }
  config.model.name = model ? model->text : config.name;
  if (layers) {
    config.model.layers = read_layers(*layers, problems_);
  } else if (!model) {
    problem({path_, 1, 1}, "the network is missing", "add `model: lenet`, or `layers:`");
  } else if (const std::string file = find_model(*model); !file.empty()) {
    config.model.name = std::filesystem::path(file).stem().string();
    try {
      const auto tree = parse_yaml(read_text(file), file, problems_);
      const Node* list = tree ? tree->find("layers") : nullptr;
      for (const Entry& entry : tree ? tree->entries : std::vector<Entry>()) {
        if (entry.key != "layers")
          problem(entry.place, fmt::format("unknown key '{}' in a network", entry.key),
                  did_you_mean(entry.key, {"layers"}), entry.key.size(), "allowed here: layers");
      }
      if (list) config.model.layers = read_layers(*list, problems_);
      if (tree && !list) problem({file, 1, 1}, "this network has no `layers:`", "list them");
    } catch (const ConfigError& error) {
      problems_.insert(problems_.end(), error.problems().begin(), error.problems().end());
    }
  }
}

std::string ConfigReader::find_model(const Node& model) {
  const auto beside = std::filesystem::path(path_).parent_path();
  std::error_code error;
  if (model.text.find('/') != std::string::npos || model.text.ends_with(".yaml")) {
    const auto file = beside / model.text;
    if (std::filesystem::exists(file, error)) return file.string();
    problem(model.place, fmt::format("there is no file {}", file.string()), "the path begins at the config's folder",
            width_of(model));
    return "";
  }
  std::vector<std::string> folders = {(beside / "models").string()};
  if (!share_folder_.empty()) folders.push_back((std::filesystem::path(share_folder_) / "models").string());
  for (const std::string& folder : folders) {
    const auto file = std::filesystem::path(folder) / (model.text + ".yaml");
    if (std::filesystem::exists(file, error)) return file.string();
  }
  const std::vector<std::string> names = models_in(folders);
  problem(model.place, fmt::format("there is no network '{}' in {}", model.text, listed(folders)),
          did_you_mean(model.text, names), width_of(model), names.empty() ? "" : "networks there: " + listed(names));
  return "";
}

void ConfigReader::read_devices(const Node& node, ScalingConfig& scaling) {
  if (node.is(Node::Kind::null) || (node.is(Node::Kind::scalar) && node.text == "auto")) return;
  scaling.automatic = false;
  if (!node.is(Node::Kind::sequence)) return read_device(node, scaling);
  if (node.items.empty()) problem(node.place, "'scaling.devices' is an empty list", "write auto, or counts of devices");
  for (const Node& item : node.items) read_device(item, scaling);
}

void ConfigReader::read_device(const Node& node, ScalingConfig& scaling) {
  DevicesConfig devices;
  devices.kind = "auto";
  devices.place = node.place;
  const std::size_t colon = node.text.find(':');
  Node count = node;
  if (node.is(Node::Kind::scalar) && colon != std::string::npos) {
    devices.kind = node.text.substr(0, colon);
    count.text = node.text.substr(colon + 1);
    count.quoted = false;
  }
  std::string why;
  const auto value = as_count(count, why);
  const std::vector<std::string> kinds = {"cpu", "cuda"};
  const bool known = devices.kind == "auto" ? colon == std::string::npos
                                            : std::find(kinds.begin(), kinds.end(), devices.kind) != kinds.end();
  if (!value || *value == 0 || *value > kMostDevices || !known) {
    if (why.empty() && !known) {
      const std::string rest = value && colon != std::string::npos ? node.text.substr(colon) : "";
      why = devices.kind == "gpu" ? fmt::format("did you mean 'cuda{}'?", rest)
                                  : did_you_mean(devices.kind + rest, {"cpu" + rest, "cuda" + rest});
    }
    return problem(node.place,
                   fmt::format("'scaling.devices' has auto, or counts from 1 to {} such as 2, cpu:2 or cuda:4, not "
                               "{}",
                               kMostDevices, said(node)),
                   why, width_of(node));
  }
  devices.count = *value;
  for (const DevicesConfig& other : scaling.devices) {
    if (other.kind == devices.kind && other.count == devices.count) {
      return problem(node.place, fmt::format("{} is given twice in 'scaling.devices'", node.text), "delete one of them",
                     width_of(node));
    }
  }
  scaling.devices.push_back(devices);
}

void ConfigReader::apply_level(Config& config) {
  constexpr std::size_t kThoroughSeeds = 10;  // from nine repeats a side on ranks can be tested
  std::vector<std::uint64_t>& seeds = config.seeds;
  if (seeds.empty()) return;
  if (config.measure.level == "quick") seeds.erase(seeds.begin() + 1, seeds.end());
  for (std::uint64_t next = 1; config.measure.level == "thorough" && seeds.size() < kThoroughSeeds; ++next)
    if (std::find(seeds.begin(), seeds.end(), next) == seeds.end()) seeds.push_back(next);
}

void ConfigReader::check_together(const Node& root, const Config& config) {
  const auto place = [&](std::string_view section, std::string_view leaf) {
    const Node* map = root.find(section);
    const Node* node = map ? map->find(leaf) : nullptr;
    return node ? node->place : map ? map->place : Place{path_, 1, 1};
  };
  if (config.schedule.kind == "step" && config.schedule.at.empty()) {
    problem(place("schedule", "kind"), "a step schedule needs the epochs of its steps", "add `at: [10]`", 4);
  }
  if (!std::is_sorted(config.schedule.at.begin(), config.schedule.at.end())) {
    problem(place("schedule", "at"), "'schedule.at' must grow", "put the epochs in order");
  }
  if (config.optimizer.nesterov && config.optimizer.kind == "sgd" && config.optimizer.momentum == 0) {
    problem(place("optimizer", "nesterov"), "Nesterov's form needs momentum", "set `momentum:` above 0", 4);
  }
}

std::vector<Override> ConfigReader::overrides(const Node& map, const std::string& where, bool of_variant) {
  std::vector<Override> list;
  if (!map.is(Node::Kind::map)) {
    problem(map.place, fmt::format("{} must be a section of keys, not {}", where, said(map)), "", width_of(map));
    return list;
  }
  collect(map, "", where, of_variant, list);
  return list;
}

void ConfigReader::collect(const Node& map, const std::string& prefix, const std::string& where, bool of_variant,
                           std::vector<Override>& list) {
  for (const Entry& entry : map.entries) {
    const std::string name = prefix + entry.key;
    const Key* key = find_key(name);
    if (key && (key->name == "when_cpu" || key->name == "name" || (of_variant && !key->varies))) {
      problem(entry.place, fmt::format("'{}' cannot be set in {}", name, where), "set it at the top of the config",
              entry.key.size());
    } else if (key) {
      list.push_back({name, entry.place, entry.value});
    } else if (is_section(name) && entry.value.is(Node::Kind::map)) {
      collect(entry.value, name + ".", where, of_variant, list);
    } else if (const Key* bare = bare_key(name); bare && entry.value.is(Node::Kind::scalar)) {
      collect(Node{Node::Kind::map, "", false, entry.place, {}, {{std::string(bare->name), entry.place, entry.value}}}, "",
              where, of_variant, list);
    } else if (is_section(name)) {
      problem(entry.value.place, fmt::format("'{}' must be a section of keys, not {}", name, said(entry.value)), "",
              width_of(entry.value));
    } else {
      std::string hint = did_you_mean(name, all_names());
      for (const Key& other : keys()) {
        if (hint.empty() && !other.section().empty() && other.leaf() == entry.key) {
          hint = fmt::format("did you mean '{}'?", other.name);
        }
      }
      problem(entry.place, fmt::format("unknown key '{}' in {}", name.substr(0, 60), where), hint, entry.key.size());
    }
  }
}

}  // namespace mgcompare
