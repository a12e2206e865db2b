#pragma once

// results.json: all results of a run and the figures derived from them. README.md in this directory describes it.

#include <functional>
#include <string_view>

#include "reports/comparison.h"

namespace mgcompare {

// In pieces, because the whole text would need more memory than everything else together.
void json_report(const Comparison& comparison, const std::function<void(std::string_view)>& write);

}  // namespace mgcompare
