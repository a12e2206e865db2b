#include "backends/description.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/text.h"
#include "config/kinds.h"
#include "modules/strategy_options.h"
#include "results/result.h"

namespace mgcompare {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostOptions = 100;
constexpr std::uint64_t kMostDevices = 1 << 20;
constexpr std::size_t kLongestName = 60;  // of a framework, its version, or a strategy; in bytes
constexpr double kLargestInteger = 9007199254740992;  // 2^53: JSON numbers are exact up to here

// A list of objects; empty if it is missing.
const Json& objects_in(const Json& body, const char* key) {
  static const Json kNone = Json::array();
  const auto found = body.find(key);
  if (found == body.end()) return kNone;
  if (!found->is_array() || found->size() > kMostOptions || std::any_of(found->begin(), found->end(), [](const Json& item) { return !item.is_object(); }))
    throw WrongMessage(fmt::format("sent 'description' with `{}` that is not a list of at most {} objects", key, kMostOptions));
  return *found;
}

// The text `key` of an optional object; empty if either is missing.
std::string text_within(const Json& body, const char* object, const char* key) {
  const auto found = body.find(object);
  if (found == body.end()) return "";
  if (!found->is_object()) throw WrongMessage(fmt::format("sent 'description' with a `{}` that is not an object", object));
  const auto text = found->find(key);
  if (text == found->end()) return "";
  if (!text->is_string() || text->get_ref<const std::string&>().size() > kLongestName)
    throw WrongMessage(fmt::format("sent 'description' with a `{}.{}` that is not a text of at most {} bytes", object, key, kLongestName));
  return plain(text->get_ref<const std::string&>());
}

[[noreturn]] void refuse(const BackendOption& option, const std::string& what) {
  throw WrongMessage(fmt::format("described its option '{}' {}", option.key, what));
}

void read_range(const Json& json, BackendOption& option) {
  const bool is_integer = option.type == "integer";
  option.least = json.contains("least") ? number_in(json, "least", -kLargestInteger, kLargestInteger) : 0;
  option.most = json.contains("most")  ? number_in(json, "most", -kLargestInteger, kLargestInteger)
                : is_integer           ? kLargestInteger
                                       : std::numeric_limits<double>::max();
  const Json& value = option.default_value;
  const bool fits = (is_integer ? value.is_number_integer() : value.is_number()) && value.get<double>() >= option.least && value.get<double>() <= option.most;
  if (!fits) refuse(option, fmt::format("with a `default` that is not {} in its range", is_integer ? "an integer" : "a number"));
}

BackendOption option_in(const Json& json) {
  BackendOption option;
  option.key = text_in(json, "key", 64);
  option.type = text_in(json, "type", 20);
  option.help = text_in(json, "help", "");
  if (option.key.empty() || option.key == "as") throw WrongMessage("described an option whose key is empty or 'as'");
  if (!json.contains("default")) refuse(option, "without a `default`");
  option.default_value = json.at("default");
  if (option.type == "choice") {
    option.values = texts_in(json, "values");
    const auto is_default = [&](const std::string& value) { return option.default_value == value; };
    if (std::none_of(option.values.begin(), option.values.end(), is_default)) refuse(option, "with a `default` that is not one of its `values`");
  } else if (option.type == "integer" || option.type == "number") {
    read_range(json, option);
  } else if (option.type != "flag") {
    refuse(option, fmt::format("with the unknown type '{}'", option.type));
  } else if (!option.default_value.is_boolean()) {
    refuse(option, "with a `default` that is not true or false");
  }
  return option;
}

BackendProblem problem_in(const Json& json) {
  const std::string kind = text_in(json, "kind", "invalid");
  if (kind != "invalid" && kind != "unavailable") throw WrongMessage(fmt::format("described a problem of the unknown kind '{}'", kind));
  return {text_in(json, "key", ""), text_in(json, "text"), kind == "unavailable"};
}

Traits traits_in(const Json& body) {
  Traits traits;
  const std::string promise = text_in(body, "promise");
  if (promise != "exact" && promise != "approximate") throw WrongMessage(fmt::format("described the unknown promise '{}'", promise));
  traits.promise = promise == "exact" ? Traits::Promise::exact : Traits::Promise::approximate;
  traits.least_ranks = static_cast<int>(count_in(body, "least_devices", kMostDevices));
  traits.most_ranks = static_cast<int>(count_in(body, "most_devices", kMostDevices));
  if (traits.least_ranks < 1 || traits.most_ranks < traits.least_ranks)
    throw WrongMessage(fmt::format("described {} to {} devices, which no row can have", traits.least_ranks, traits.most_ranks));
  traits.devices.clear();
  for (const std::string& kind : texts_in(body, "device_kinds")) {
    if (kind == "cpu") traits.devices.push_back(DeviceKind::cpu);
    if (kind == "cuda") traits.devices.push_back(DeviceKind::cuda);
  }
  return traits;
}

BackendSummary details_in(const Json& body) {
  BackendSummary summary;
  const auto versions = body.find("versions"), precisions = body.find("precisions");
  if (versions != body.end()) {
    if (!versions->is_object() || versions->size() > kMostOptions) throw WrongMessage("sent 'description' with `versions` that are not an object");
    for (const auto& [name, value] : versions->items()) summary.versions.emplace_back(plain(shortened(name, 60)), text_in(*versions, name.c_str(), 200));
  }
  if (precisions != body.end()) {
    if (!precisions->is_object() || precisions->size() > kMostOptions) throw WrongMessage("sent 'description' with `precisions` that are not an object");
    for (const auto& [kind, value] : precisions->items()) summary.precisions[plain(kind)] = texts_in(*precisions, kind.c_str());
  }
  summary.device_kinds = texts_in(body, "device_kinds");
  summary.layers = texts_in(body, "layers");
  summary.optimizers = texts_in(body, "optimizers");
  summary.differs = texts_in(body, "differs");
  summary.like_one = text_within(body, "like", "one");
  summary.like_several = text_within(body, "like", "several");
  return summary;
}

// As YAML reads it.
Json value_of(const OptionConfig& option) {
  if (option.quoted) return option.value;
  if (option.value == "true" || option.value == "false") return option.value == "true";
  if (const auto value = parse_number<std::int64_t>(option.value)) return *value;
  if (const auto value = parse_number<double>(option.value); value && std::isfinite(*value)) return *value;
  return option.value;
}

// The value of this option, as StrategyOptions checks it.
Json value_of(const BackendOption& option, StrategyOptions& options) {
  const auto whole = [](double value) { return static_cast<std::int64_t>(value); };
  if (option.type == "choice") return options.choice(option.key, option.default_value.get<std::string>(), option.help, option.values);
  if (option.type == "flag") return options.flag(option.key, option.default_value.get<bool>(), option.help);
  if (option.type == "integer") {
    const std::int64_t most = option.most >= kLargestInteger ? std::numeric_limits<std::int64_t>::max() : whole(option.most);
    return options.integer(option.key, option.default_value.get<std::int64_t>(), option.help, whole(option.least), most);
  }
  return options.number(option.key, option.default_value.get<double>(), option.help, option.least, option.most);
}

}  // namespace

Json describe_request(int id, const std::vector<OptionConfig>& given) {
  Json options = Json::object();
  for (const OptionConfig& option : given) options[option.key] = value_of(option);
  return {{"type", "describe"}, {"id", id}, {"protocol", 1}, {"options", options}};
}

BackendDescription description_in(const Json& body, const std::string& name) {
  if (const std::string said = text_in(body, "name"); said != name)
    throw WrongMessage(fmt::format("calls itself '{}', but its manifest calls it '{}'", said, name));
  if (body.value("protocol", Json()) != 1) throw WrongMessage("sent 'description' for another version of the protocol than 1");
  BackendDescription description;
  for (const Json& option : objects_in(body, "options")) description.options.push_back(option_in(option));
  for (const Json& problem : objects_in(body, "problems")) description.problems.push_back(problem_in(problem));
  description.traits = traits_in(body);
  description.summary = details_in(body);
  description.framework = text_within(body, "framework", "name");
  description.framework_version = text_within(body, "framework", "version");
  if (description.framework.empty()) description.framework = name;
  // Reports give the rows of strategies this name.
  if (description.framework == kOwnFramework) throw WrongMessage(fmt::format("calls its framework '{}', which is the name of this program", kOwnFramework));
  return description;
}

StrategySummary summary_of(const BackendDescription& description, const std::vector<OptionConfig>& given) {
  StrategySummary summary;
  StrategyOptions options(given);
  for (const BackendOption& option : description.options) value_of(option, options);
  summary.problems = options.problems();
  summary.options = options.asked();
  summary.traits = description.traits;
  summary.backend = description.summary;
  for (const BackendProblem& problem : description.problems) {
    if (!problem.is_unavailable) summary.problems.push_back({problem.key, problem.text});
    else if (summary.backend.unavailable.empty()) summary.backend.unavailable = problem.text;
  }
  return summary;
}

Json option_values(const BackendDescription& description, const std::vector<OptionConfig>& given) {
  StrategyOptions options(given);
  Json values = Json::object();
  for (const BackendOption& option : description.options) values[option.key] = value_of(option, options);
  return values;
}

}  // namespace mgcompare
