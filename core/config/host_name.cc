#include "config/host_name.h"

#include <algorithm>

namespace mgcompare {
namespace {

constexpr std::size_t kLongestHostName = 253, kLongestLabel = 63;

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kLongestLabel && is_alphanumeric(label.front()) && is_alphanumeric(label.back()) &&
         std::all_of(label.begin(), label.end(), [](char c) { return is_alphanumeric(c) || c == '-'; });
}

}  // namespace

bool is_host_name(std::string_view name) {
  if (name.size() > kLongestHostName) return false;
  for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.')) {
    if (!is_label(name.substr(0, dot))) return false;
    name.remove_prefix(dot + 1);
  }
  return is_label(name);
}

}  // namespace mgcompare
