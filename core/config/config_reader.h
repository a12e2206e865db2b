#pragma once

// Tree -> Config: reads every key once, checks it, and adds all problems found. Config files, and configs that are sent to
// a worker or stored in results, are read by the same code.

#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/problem.h"
#include "config/yaml_guard.h"

namespace mgcompare {

struct Key;

// Characters of the name of a config or a network.
inline constexpr std::size_t kLongestName = 200;

class ConfigReader {
 public:
  // Relative paths in the config begin at the folder of `config_path`. `share_folder`: ConfigSetting.
  ConfigReader(std::string config_path, std::string share_folder, std::vector<Problem>& problems);

  // Everything but `variants`, for which see read_variants(), and `when_cpu`, which is an edit of the tree. Invalid values
  // leave the default and add a problem.
  Config read(const Node& root);
  // Fills config.variants, each with its own complete Config. `config` is what read() returned for the same tree.
  void read_variants(const Node& root, Config& config);
  // Of a config that is to run: results may be read where this interpreter is not.
  void check_python(const Node& root, const std::string& python);

 private:
  // `prefix`: "crop." for the section `crop` within the section.
  void read_entries(const Node& map, const std::string& section, Config& config, const std::string& prefix = "");
  std::string beside_config(const std::string& path) const;
  void unknown_key(const Entry& entry, const std::string& section);
  // `model`, `models` and `layers`.
  void read_network(const Node& root, Config& config);
  void read_models(const Node& list, Config& config);
  ModelConfig read_model(const Node& item);
  void read_named_model(const Node& name, ModelConfig& model);
  void read_model_file(const std::string& file, ModelConfig& model);
  std::string find_model(const Node& model);
  void read_devices(const Node& node, ScalingConfig& scaling);
  // A count, KIND:COUNT, or {auto: counts}.
  void read_listed_devices(const Node& node, ScalingConfig& scaling);
  void read_device(const Node& node, ScalingConfig& scaling, bool if_present);
  void read_chosen_devices(const Node& node, ScalingConfig& scaling);
  // Adds an entry that is not yet listed; `text` is what the file has at `node`.
  void add_devices(const Node& node, const std::string& text, const DevicesConfig& devices, ScalingConfig& scaling);
  void check_hosts(const Node& root, const HostsConfig& hosts);
  void read_strategies(const Node* list, Config& config);
  StrategyConfig read_strategy(const Node& node);
  void read_options(const Node& node, StrategyConfig& strategy);
  bool read_variant_name(const Node& item, std::set<std::string>& names);
  void check_combinations(const Node& root, const Config& config);
  // Fills data.places.
  static void note_places(const Node& root, DataConfig& data);
  void check_data(const Node& root, const DataConfig& data);
  // Where a key is in the file; the place of its section, or the file's beginning, if it is not there.
  Place place_of(const Node& root, std::string_view section, std::string_view leaf) const;
  static void apply_level(Config& config);
  void problem(const Place& place, std::string text, std::string hint = "", std::size_t width = 1,
               std::string note = "");

  std::string path_;
  std::string share_folder_;
  std::vector<Problem>& problems_;
};

// `layers:` of a config or of a model file.
std::vector<LayerConfig> read_layers(const Node& list, std::vector<Problem>& problems);

}  // namespace mgcompare
