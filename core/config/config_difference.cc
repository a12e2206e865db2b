#include "config/config_difference.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace mgcompare {

std::vector<std::string> differing_keys(const std::string& one, const std::string& other) {
  // Keys that begin with @ are not settings.
  const auto flatten = [](const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
    return json.is_structured() ? json.flatten() : nlohmann::json::object();
  };
  const nlohmann::json a = flatten(one), b = flatten(other);
  std::set<std::string> keys;
  const auto collect = [&](const nlohmann::json& from, const nlohmann::json& in) {
    for (const auto& [key, value] : from.items()) {
      if (key.find("/@") != std::string::npos || (in.contains(key) && in[key] == value)) continue;
      std::string dotted = key.substr(std::min<std::size_t>(1, key.size()));
      std::replace(dotted.begin(), dotted.end(), '/', '.');
      keys.insert(dotted);
    }
  };
  collect(a, b);
  collect(b, a);
  return {keys.begin(), keys.end()};
}

}  // namespace mgcompare
