#pragma once

// How tables of keys reach the fields of a Config.

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "config/keys.h"

namespace mgcompare {

inline constexpr double kMany = 1e9;
inline constexpr double kMaxPath = 4096;  // characters, as in Linux

using Text = std::string& (*)(Config&);
using Number = double& (*)(Config&);
using Count = std::size_t& (*)(Config&);
using Flag = bool& (*)(Config&);
using Numbers = std::vector<double>& (*)(Config&);
using Counts = std::vector<std::size_t>& (*)(Config&);
using Texts = std::vector<std::string>& (*)(Config&);

// `access` returns a reference to an enum of kinds.h.
template <class Access> Choice choice(Access) {
  using E = std::remove_cvref_t<std::invoke_result_t<Access, Config&>>;
  return {kKindNames<E>, [](Config& config) { return static_cast<std::size_t>(Access()(config)); },
          [](Config& config, std::size_t index) { Access()(config) = static_cast<E>(index); }};
}

}  // namespace mgcompare
