#include "config/config_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "base/program_search.h"
#include "base/text.h"
#include "config/host_name.h"
#include "config/key_value.h"
#include "config/keys.h"
#include "config/other_names.h"

namespace mgcompare {
namespace {

constexpr std::size_t kMaxDevices = 4096;

}  // namespace

ConfigReader::ConfigReader(std::string config_path, std::string share_folder, std::vector<Problem>& problems)
    : path_(std::move(config_path)), share_folder_(std::move(share_folder)), problems_(problems) {}

void ConfigReader::problem(const Place& place, std::string text, std::string hint, std::size_t width,
                           std::string note) {
  problems_.push_back({place, std::move(text), std::move(hint), std::move(note), width});
}

Config ConfigReader::read(const Node& root) {
  Config config;
  config.path = path_;
  config.name = path_ == kStandardInput ? "stdin" : as_name(std::filesystem::path(path_).stem().string(), kLongestName);
  read_entries(root, "", config);
  read_network(root, config);
  const Node* scaling = root.find("scaling");
  if (const Node* devices = scaling ? scaling->find("devices") : nullptr) read_devices(*devices, config.scaling);
  check_hosts(root, config.hosts);
  read_strategies(root.find("strategies"), config);
  check_combinations(root, config);
  note_places(root, config.data);
  check_data(root, config.data);
  apply_level(config);
  for (std::string& plugin : config.plugin_paths) {
    plugin = beside_config(plugin);
  }
  if (config.python.find('/') != std::string::npos) config.python = beside_config(config.python);
  if (!config.data.path.empty()) config.data.path = beside_config(config.data.path);
  if (!config.data.validation.empty() && !validation_share(config.data)) config.data.validation = beside_config(config.data.validation);
  return config;
}

// The path that a relative one in the config means.
std::string ConfigReader::beside_config(const std::string& path) const {
  const std::filesystem::path whole = std::filesystem::absolute(std::filesystem::path(path_).parent_path() / path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).string();  // without a slash at its end
}

void ConfigReader::read_entries(const Node& map, const std::string& section, Config& config, const std::string& prefix) {
  for (const Entry& entry : map.entries) {
    const Node& value = entry.value;
    const std::string inner = section.empty() ? entry.key : section + "." + entry.key;
    if (const Key* key = find_key(section, prefix + entry.key)) {
      if (!value.is(Node::Kind::null)) read_value(*key, value, config, problems_);
    } else if (!prefix.empty() || !is_section(inner)) {
      unknown_key(entry, prefix.empty() ? section : section + "." + prefix.substr(0, prefix.size() - 1));
    } else if (value.is(Node::Kind::map)) {
      read_entries(value, section.empty() ? entry.key : section, config, section.empty() ? "" : entry.key + ".");
    } else if (!value.is(Node::Kind::null)) {
      problem(value.place, fmt::format("'{}' must be a section of keys, not {}", inner, describe(value)), "",
              width_of(value), "keys: " + listed(names_in(inner)));
    }
  }
}

void ConfigReader::unknown_key(const Entry& entry, const std::string& section) {
  const std::vector<std::string> allowed = names_in(section);
  std::string hint = did_you_mean(entry.key, allowed);
  if (const Key* dotted = section.empty() ? find_key(entry.key) : nullptr) {
    hint = fmt::format("write {}: {{{}: ...}}", dotted->section(), dotted->leaf());
  }
  for (const Key& key : keys()) {
    if (hint.empty() && key.leaf() == entry.key)
      hint = fmt::format(
          "'{}' belongs {}", entry.key,
          key.section().empty() ? "at the top, not in a section" : fmt::format("in '{}'", key.section()));
  }
  if (hint.empty()) hint = other_name_hint(entry.key, all_names());
  problem(entry.place,
          fmt::format("unknown key '{}'{}", entry.key.substr(0, 60),
                      section.empty() ? "" : fmt::format(" in '{}'", section)),
          hint, entry.key.size(), "allowed here: " + listed(allowed));
}

void ConfigReader::check_hosts(const Node& root, const HostsConfig& hosts) {
  const Place place = place_of(root, "hosts", "names");
  std::set<std::string> known;
  for (const std::string& name : hosts.names) {
    if (!is_host_name(name))
      problem(place, fmt::format("'hosts.names' has the name '{}', which is not that of a host", plain(name)),
              "write letters, digits, '-' and dots, such as node1 or node1.cluster");
    else if (!known.insert(name).second)
      problem(place, fmt::format("'hosts.names' has {} twice", name), "delete one of them");
  }
}

void ConfigReader::check_python(const Node& root, const std::string& python) {
  const bool is_path = python.find('/') != std::string::npos;
  if (python.empty() || (is_path ? is_program(python) : !find_program(python).empty())) return;
  const Node* const node = root.find("python");
  problem(node != nullptr ? node->place : Place{path_, 1, 1},
          is_path ? fmt::format("`python:` names {}, which is not a program", plain(python))
                  : fmt::format("`python:` names {}, and there is no program of this name on PATH", plain(python)),
          "write the path of an interpreter, or leave it out for the first python3 on PATH", node != nullptr ? width_of(*node) : 1);
}

void ConfigReader::read_devices(const Node& node, ScalingConfig& scaling) {
  if (node.is(Node::Kind::null) || (node.is(Node::Kind::scalar) && node.text == "auto")) return;
  scaling.automatic = false;
  if (!node.is(Node::Kind::sequence)) return read_listed_devices(node, scaling);
  if (node.items.empty()) problem(node.place, "'scaling.devices' is an empty list", "write auto, or counts of devices");
  for (const Node& item : node.items) read_listed_devices(item, scaling);
}

void ConfigReader::read_listed_devices(const Node& node, ScalingConfig& scaling) {
  if (node.find("ids") != nullptr) return read_chosen_devices(node, scaling);
  const Node* const counts = node.entries.size() == 1 ? node.find("auto") : nullptr;
  if (counts == nullptr) return read_device(node, scaling, false);
  const bool is_list = counts->is(Node::Kind::sequence);
  if (is_list && counts->items.empty())
    problem(counts->place, "'auto' of 'scaling.devices' is an empty list", "write `devices: auto`, or counts of devices");
  for (const Node& item : is_list ? counts->items : std::vector<Node>{*counts}) {
    if (item.is(Node::Kind::scalar) && item.text.find(':') != std::string::npos)
      problem(item.place, fmt::format("'auto' of 'scaling.devices' has counts such as 2, not {}", describe(item)),
              "leave the kind out: auto chooses it", width_of(item));
    else
      read_device(item, scaling, true);
  }
}

// `{ids: [0, 2]}`, perhaps with `kind: cpu`.
void ConfigReader::read_chosen_devices(const Node& node, ScalingConfig& scaling) {
  DevicesConfig devices;
  devices.kind = "auto";
  devices.place = node.place;
  for (const Entry& entry : node.entries) {
    if (entry.key == "ids") continue;
    const bool is_kind = entry.key == "kind" && entry.value.is(Node::Kind::scalar) && (entry.value.text == "cpu" || entry.value.text == "cuda");
    if (!is_kind)
      return problem(entry.place, fmt::format("chosen devices have `ids` and perhaps `kind: cpu` or `kind: cuda`, not '{}: {}'", entry.key, entry.value.text),
                     "write {ids: [0, 2]} or {kind: cpu, ids: [0, 2]}", entry.key.size());
    devices.kind = entry.value.text;
  }
  const Node& ids = *node.find("ids");
  for (const Node& item : ids.is(Node::Kind::sequence) ? ids.items : std::vector<Node>{ids}) {
    std::string why;
    const auto id = as_count(item, why);
    if (!id || *id >= kMaxDevices)
      return problem(item.place, fmt::format("'ids' of 'scaling.devices' has the numbers of devices from 0 to {}, not {}", kMaxDevices - 1, describe(item)), why,
                     width_of(item));
    if (std::find(devices.ids.begin(), devices.ids.end(), static_cast<int>(*id)) != devices.ids.end())
      return problem(item.place, fmt::format("'ids' of 'scaling.devices' has {} twice", *id), "delete one of them", width_of(item));
    devices.ids.push_back(static_cast<int>(*id));
  }
  if (devices.ids.empty()) return problem(ids.place, "'ids' of 'scaling.devices' is an empty list", "write the numbers of devices, such as [0, 2]");
  devices.count = devices.ids.size();
  add_devices(node, fmt::format("{{ids: [{}]}}", fmt::join(devices.ids, ", ")), devices, scaling);
}

void ConfigReader::add_devices(const Node& node, const std::string& text, const DevicesConfig& devices, ScalingConfig& scaling) {
  for (const DevicesConfig& other : scaling.devices) {
    if (other.kind == devices.kind && other.count == devices.count && other.hosts == devices.hosts && other.ids == devices.ids)
      return problem(node.place, fmt::format("{} is given twice in 'scaling.devices'", text), "delete one of them", width_of(node));
  }
  scaling.devices.push_back(devices);
}

void ConfigReader::read_device(const Node& node, ScalingConfig& scaling, bool if_present) {
  DevicesConfig devices;
  devices.if_present = if_present;
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
  std::optional<std::size_t> hosts = 1;
  if (const std::size_t times = count.text.find('x'); count.is(Node::Kind::scalar) && times != std::string::npos && !if_present) {
    count.quoted = false;
    Node of_hosts = count;
    of_hosts.text = count.text.substr(0, times);
    count.text = count.text.substr(times + 1);
    hosts = as_count(of_hosts, why);
  }
  const auto value = as_count(count, why);
  const std::vector<std::string> kinds = {"cpu", "cuda"};
  const bool known = devices.kind == "auto" ? colon == std::string::npos
                                            : std::find(kinds.begin(), kinds.end(), devices.kind) != kinds.end();
  const bool is_count = value && hosts && *value > 0 && *hosts > 0 && *value <= kMaxDevices && *hosts <= kMaxDevices / *value;
  if (!is_count || !known) {
    if (why.empty() && !known) {
      const std::string rest = value && colon != std::string::npos ? node.text.substr(colon) : "";
      why = devices.kind == "gpu" ? fmt::format("did you mean 'cuda{}'?", rest)
                                  : did_you_mean(devices.kind + rest, {"cpu" + rest, "cuda" + rest});
    }
    return problem(node.place,
                   fmt::format("'scaling.devices' has auto, {{auto: [1, 3]}}, {{ids: [0, 2]}}, or counts from 1 to {} such as 2, cpu:2, cuda:4 or 2x4, not "
                               "{}",
                               kMaxDevices, describe(node)),
                   why, width_of(node));
  }
  devices.hosts = *hosts;
  devices.count = *value * *hosts;
  add_devices(node, node.text, devices, scaling);
}

void ConfigReader::apply_level(Config& config) {
  constexpr std::size_t kThoroughSeeds = 10;  // a rank test needs at least nine repeats per side
  std::vector<std::uint64_t>& seeds = config.seeds;
  if (seeds.empty()) return;
  if (config.measure.level == MeasureLevel::quick) seeds.erase(seeds.begin() + 1, seeds.end());
  for (std::uint64_t next = 1; config.measure.level == MeasureLevel::thorough && seeds.size() < kThoroughSeeds; ++next)
    if (std::find(seeds.begin(), seeds.end(), next) == seeds.end()) seeds.push_back(next);
}

Place ConfigReader::place_of(const Node& root, std::string_view section, std::string_view leaf) const {
  const Node* map = root.find(section);
  const Node* node = map ? map->find(leaf) : nullptr;
  return node ? node->place : map ? map->place : Place{path_, 1, 1};
}

void ConfigReader::check_combinations(const Node& root, const Config& config) {
  if (config.schedule.kind == ScheduleKind::step && config.schedule.at.empty()) {
    problem(place_of(root, "schedule", "kind"), "a step schedule needs the epochs of its steps", "add `at: [10]`", 4);
  }
  if (!std::is_sorted(config.schedule.at.begin(), config.schedule.at.end())) {
    problem(place_of(root, "schedule", "at"), "'schedule.at' must be ascending", "sort the epochs");
  }
  if (config.optimizer.nesterov && config.optimizer.kind == OptimizerKind::sgd && config.optimizer.momentum == 0) {
    problem(place_of(root, "optimizer", "nesterov"), "Nesterov momentum needs a momentum above 0", "set `momentum:` above 0", 4);
  }
}

}  // namespace mgcompare
