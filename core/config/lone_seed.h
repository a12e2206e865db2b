#pragma once

// `seeds: 3`, which may have been meant as three repeats.

#include <string>
#include <vector>

#include "config/config.h"

namespace mgcompare {

// A remark if the config, or the last override of its seeds, gives one number above 1 and no list, and one repeat follows from it;
// otherwise empty. `config` is what was read with these overrides.
std::string lone_seed_remark(const Config& config, const std::vector<std::string>& overrides);

}  // namespace mgcompare
