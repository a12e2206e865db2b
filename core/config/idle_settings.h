#pragma once

// Settings that change nothing, because another setting does not use them.

#include <string>
#include <vector>

#include "config/config.h"

namespace mgcompare {

// One remark for each setting that differs from its default and that neither the config nor one of its variants uses:
// "`optimizer.momentum` is for sgd: with adam it changes nothing".
std::vector<std::string> idle_setting_remarks(const Config& config);

}  // namespace mgcompare
