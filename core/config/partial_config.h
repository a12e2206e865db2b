#pragma once

// Reading a config whose mistakes are not all visible to the config's reader.

#include <functional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/problem.h"

namespace mgcompare {

// What the config can be checked for by its user, here by the names of strategies. Gets the config as far as it could be read.
using FurtherCheck = std::function<std::vector<Problem>(const Config& config)>;

// As read_config(). Of a config with mistakes, those that `further` finds are reported with the others; of one without, `further` is
// not called.
Config read_config(const std::string& path, const ConfigSetting& setting, const FurtherCheck& further);

}  // namespace mgcompare
