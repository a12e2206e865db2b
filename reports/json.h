#pragma once

// results.json: all results of a run and the figures derived from them. README.md in this directory describes it.

#include <functional>
#include <string_view>

#include "reports/overview.h"

namespace mgcompare {

// Of several runs: {"warnings": [...], "runs": [...]}, with the document of each, which has a key "infrastructure".
// In pieces, because the whole text would need more memory than everything else together.
void json_report(const Overview& overview, const std::function<void(std::string_view)>& write);

}  // namespace mgcompare
