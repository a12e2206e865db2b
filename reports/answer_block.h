#pragma once

// The top of report.html for one part: the answer in sentences and tiles, and the findings by each objective.

#include <cstddef>
#include <string>

#include <kainjow/mustache.hpp>

#include "reports/overview.h"

namespace mgcompare {

// `number` of the part distinguishes its elements from those of the others.
kainjow::mustache::data answer_block(const Overview& overview, const Comparison& comparison, std::size_t number);

// "Several devices are faster: 2.84 [2.69 .. 2.85] times", for a list of the parts.
std::string short_answer(const Comparison& comparison);

}  // namespace mgcompare
