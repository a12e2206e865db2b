#pragma once

// Settings that change nothing, because another setting does not use them.

#include <string>
#include <vector>

#include "config/config.h"

namespace mgcompare {

// One remark for each setting that differs from its default and that neither the config nor one of its variants uses:
// "`optimizer.momentum` is for sgd: with adam it changes nothing; remove it". None where `when_cpu:` or an override chose what does not use the
// setting: the config itself may be right. `config` is what was read with these overrides.
std::vector<std::string> idle_setting_remarks(const Config& config, const std::vector<std::string>& overrides);

}  // namespace mgcompare
