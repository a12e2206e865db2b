#pragma once

// The top of report.html for one part: the answer in sentences and tiles, and the findings by each objective.

#include <cstddef>

#include <kainjow/mustache.hpp>

#include "reports/overview.h"

namespace mgcompare {

// `number` of the part distinguishes its elements from those of the others.
kainjow::mustache::data answer_block(const Overview& overview, const Comparison& comparison, std::size_t number);

}  // namespace mgcompare
