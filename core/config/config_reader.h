#pragma once

// From a parsed tree to a Config, one function a form. Used for files, for the command line and for what a worker is
// sent, so that all of them are checked alike.

#include <string>
#include <vector>

#include "config/config.h"
#include "config/problem.h"
#include "config/yaml_guard.h"

namespace mgcompare {

// One override with its dotted name, which is in the table of keys.
struct Override {
  std::string name;
  Place place;
  Node value;
};

class ConfigReader {
 public:
  ConfigReader(std::string config_path, std::string share_folder, std::vector<Problem>& problems);

  // Reads everything but `variants` and `when_cpu`, and checks what keys mean together. Values that do not fit leave
  // the default and a problem.
  Config read(const Node& root);
  std::vector<VariantConfig> read_variants(const Node* list);
  // A map of nested or dotted keys as a list of single overrides; `where` names it in problems. Unknown keys are
  // problems.
  std::vector<Override> overrides(const Node& map, const std::string& where, bool of_variant);

 private:
  void check_names(const Node& root);
  void read_field(const Node& root, const struct Key& key, Config& config);
  void read_model(const Node& root, Config& config);
  std::string find_model(const Node& model);
  void read_devices(const Node& node, ScalingConfig& scaling);
  void read_device(const Node& node, ScalingConfig& scaling);
  void read_strategies(const Node* list, Config& config);
  StrategyConfig read_strategy(const Node& node);
  void read_options(const Node& node, StrategyConfig& strategy);
  void check_together(const Node& root, const Config& config);
  static void apply_level(Config& config);
  void collect(const Node& map, const std::string& prefix, const std::string& where, bool of_variant,
               std::vector<Override>& list);
  void problem(const Place& place, std::string text, std::string hint = "", std::size_t width = 1,
               std::string note = "");

  std::string path_;
  std::string share_folder_;
  std::vector<Problem>& problems_;
};

// `layers:` of a config or of a model's file.
std::vector<LayerConfig> read_layers(const Node& list, std::vector<Problem>& problems);

// Puts a value at a dotted name, making the section where there is none.
void set_value(Node& root, const Override& override);

// Sections that are given as a bare value get a key for it.
void open_bare_sections(Node& root);

// "a list", "'abc'", "nothing": what stands there, for a sentence.
std::string said(const Node& node);
std::size_t width_of(const Node& node);

}  // namespace mgcompare
