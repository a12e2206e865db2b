#pragma once

// The parts of the Markdown report about where things were: the ranks' placement, and the links between devices.

#include <string>

#include "reports/comparison.h"

namespace mgcompare {

std::string placement_section(const Comparison& comparison);
std::string links_section(const Run& run);

}  // namespace mgcompare
