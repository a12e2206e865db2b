// Reads `model:`, `models:` and `layers:`.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "config/config_reader.h"
#include "config/key_value.h"

namespace mgcompare {
namespace {

constexpr char kModelsForm[] = "write models: [lenet, mlp]";

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

const Node* given(const Node& root, std::string_view key) {
  const Node* node = root.find(key);
  return node && node->is(Node::Kind::null) ? nullptr : node;
}

}  // namespace

void ConfigReader::read_network(const Node& root, Config& config) {
  const Node* layers = given(root, "layers");
  const Node* model = given(root, "model");
  if (const Node* models = given(root, "models")) {
    for (const auto& [key, other] : {std::pair("model", model), std::pair("layers", layers)})
      if (other)
        problem(models->place, fmt::format("'models' and '{}' both give the network", key),
                other == layers ? "remove one of them, or list {name: X, layers: [...]} in `models`" : "remove one of them",
                width_of(*models));
    return read_models(*models, config);
  }
  if (model && !is_name(*model, kLongestName)) {
    return problem(model->place, "'model' must be a network's name, not " + describe(*model),
                   model->is(Node::Kind::scalar)     ? "a name is a text " + name_form(kLongestName)
                   : model->is(Node::Kind::sequence) ? "list several networks under `models:`"
                                                     : "write the layers of an inline network under `layers:`",
                   width_of(*model));
  }
  config.model.name = model ? model->text : config.name;
  if (layers) {
    config.model.layers = read_layers(*layers, problems_);
  } else if (!model) {
    problem({path_, 1, 1}, "the network is missing", "add `model: lenet`, or `layers:`");
  } else {
    read_named_model(*model, config.model);
  }
}

void ConfigReader::read_models(const Node& list, Config& config) {
  if (!list.is(Node::Kind::sequence) || list.items.empty()) {
    return problem(list.place, "'models' must be a list of networks, not " + describe(list),
                   list.is(Node::Kind::scalar) ? "write `model:` for one network" : kModelsForm, width_of(list));
  }
  for (const Node& item : list.items) {
    ModelConfig model = read_model(item);
    if (model.name.empty()) continue;
    const auto same = [&](const ModelConfig& other) { return other.name == model.name; };
    if (std::any_of(config.models.begin(), config.models.end(), same))
      problem(item.place, fmt::format("two networks are called '{}'", model.name),
              "remove one of them, or copy its file to another name", width_of(item));
    config.models.push_back(std::move(model));
  }
  if (config.models.empty()) return;
  config.model = config.models.front();
  if (config.models.size() == 1) config.models.clear();
}

ModelConfig ConfigReader::read_model(const Node& item) {
  ModelConfig model;
  if (is_name(item, kLongestName)) {
    model.name = item.text;
    read_named_model(item, model);
    return model;
  }
  const Node* name = item.find("name");
  const Node* layers = item.find("layers");
  if (!item.is(Node::Kind::map) || !name || !layers || !is_name(*name, kLongestName)) {
    problem(item.place, "a network is a name, a path or {name: X, layers: [...]}, not " + describe(item), kModelsForm, width_of(item));
    return model;
  }
  for (const Entry& entry : item.entries) {
    if (entry.key == "name" || entry.key == "layers") continue;
    problem(entry.place, fmt::format("unknown key '{}' in a network", entry.key.substr(0, 60)),
            did_you_mean(entry.key, {"name", "layers"}), entry.key.size(), "allowed here: name and layers");
  }
  model.name = name->text;
  model.layers = read_layers(*layers, problems_);
  return model;
}

void ConfigReader::read_named_model(const Node& name, ModelConfig& model) {
  if (const std::string file = find_model(name); !file.empty()) read_model_file(file, model);
}

void ConfigReader::read_model_file(const std::string& file, ModelConfig& model) {
  model.name = as_name(std::filesystem::path(file).stem().string(), kLongestName);
  try {
    const auto tree = parse_yaml(read_text(file), file, problems_);
    if (!tree) return;
    for (const Entry& entry : tree->entries) {
      if (entry.key == "layers") continue;
      problem(entry.place, fmt::format("unknown key '{}' in a network", entry.key),
              did_you_mean(entry.key, {"layers"}), entry.key.size(), "allowed here: layers");
    }
    if (const Node* list = tree->find("layers")) {
      model.layers = read_layers(*list, problems_);
    } else {
      problem({file, 1, 1}, "this network has no `layers:`", "list them");
    }
  } catch (const ConfigError& error) {
    problems_.insert(problems_.end(), error.problems().begin(), error.problems().end());
  }
}

std::string ConfigReader::find_model(const Node& model) {
  const auto beside = std::filesystem::path(path_).parent_path();
  std::error_code error;
  if (model.text.find('/') != std::string::npos || model.text.ends_with(".yaml")) {
    const auto file = beside / model.text;
    if (std::filesystem::exists(file, error)) return file.string();
    problem(model.place, fmt::format("there is no file {}", file.string()), "the path is relative to the folder of the config",
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

}  // namespace mgcompare
