#include "config/layer_setting.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/number_text.h"
#include "config/config_reader.h"
#include "config/key_value.h"
#include "config/layer_hint.h"

namespace mgcompare {
namespace {

// One method for each type of field that a key can have.
class SettingReader {
 public:
  SettingReader(const LayerKey& key, const Node& node, LayerConfig& layer, std::vector<Problem>& problems)
      : key_(key), node_(node), layer_(layer), problems_(problems) {}

  void operator()(std::size_t& (*field)(LayerConfig&)) { read_count(key_, node_, field(layer_), problems_); }
  void operator()(double& (*field)(LayerConfig&)) { read_number(key_, node_, field(layer_)); }
  void operator()(std::optional<double>& (*field)(LayerConfig&)) {
    double value = -1;
    read_number(key_, node_, value);
    if (value >= 0) field(layer_) = value;
  }
  void operator()(bool& (*field)(LayerConfig&)) {
    std::string why;
    if (const auto value = as_flag(node_, why)) field(layer_) = *value;
    else problem(node_.place, fmt::format("'{}' must be true or false, not {}", key_.name, describe(node_)), why, width_of(node_));
  }
  void operator()(std::size_t* (*field)(LayerConfig&)) {
    std::size_t* const pair = field(layer_);
    if (!node_.is(Node::Kind::sequence)) {
      read_count(key_, node_, pair[0], problems_);
      pair[1] = pair[0];
    } else if (node_.items.size() == 2) {
      read_count(key_, node_.items[0], pair[0], problems_);
      read_count(key_, node_.items[1], pair[1], problems_);
    } else {
      problem(node_.place, fmt::format("'{}' is one number or [height, width]", key_.name));
    }
  }
  void operator()(InitializerConfig& (*field)(LayerConfig&)) {
    InitializerConfig& weights = field(layer_);
    const bool named = node_.is(Node::Kind::scalar);
    if (!named && (!node_.is(Node::Kind::map) || node_.entries.size() != 1)) {
      return problem(node_.place, "'weights' must be a name or {normal: 0.01}, not " + describe(node_), "", width_of(node_),
                     "names: " + listed(initializers()));
    }
    const std::string& name = named ? node_.text : node_.entries[0].key;
    const Place& place = named ? node_.place : node_.entries[0].place;
    const std::optional<InitializerKind> kind = find_kind<InitializerKind>(name);
    if (!kind) {
      return problem(place, fmt::format("there are no initial weights '{}'", name.substr(0, 40)), did_you_mean(name, initializers()), name.size(),
                     "names: " + listed(initializers()));
    }
    const bool sized = kind == InitializerKind::normal || kind == InitializerKind::uniform;
    if (named == sized) {
      return problem(place, fmt::format("'{}' {} number", name, sized ? "needs a" : "takes no"),
                     sized ? fmt::format("write {{{}: 0.01}}", name) : "write the name alone", name.size());
    }
    weights.kind = *kind;
    if (sized) read_number({"weights", "", {}, 0, 1000}, node_.entries[0].value, weights.scale);
  }

 private:
  void problem(const Place& place, std::string text, std::string hint = "", std::size_t width = 1, std::string note = "") {
    problems_.push_back({place, std::move(text), std::move(hint), std::move(note), width});
  }

  void read_number(const LayerKey& key, const Node& node, double& field) {
    std::string why;
    const auto value = as_number(node, why);
    if (value && *value >= key.min && *value <= key.max) {
      field = *value;
      return;
    }
    problem(node.place, fmt::format("'{}' must be a number from {} to {}, not {}", key.name, number_text(key.min), number_text(key.max), describe(node)),
            why, width_of(node));
  }

  const LayerKey& key_;
  const Node& node_;
  LayerConfig& layer_;
  std::vector<Problem>& problems_;
};

}  // namespace

void read_setting(const LayerKey& key, const Node& node, LayerConfig& layer, std::vector<Problem>& problems) {
  std::visit(SettingReader(key, node, layer, problems), key.field);
}

void read_count(const LayerKey& key, const Node& node, std::size_t& field, std::vector<Problem>& problems) {
  std::string why;
  const auto value = as_count(node, why);
  if (value && static_cast<double>(*value) >= key.min && static_cast<double>(*value) <= key.max) {
    field = *value;
    return;
  }
  problems.push_back({node.place,
                      fmt::format("'{}' must be a whole number from {} to {}, not {}", key.name, number_text(key.min), number_text(key.max), describe(node)),
                      why.empty() ? padding_hint(key, node) : why, "", width_of(node)});
}

}  // namespace mgcompare
