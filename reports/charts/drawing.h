#pragma once

// The scaling curves as a static picture, drawn by gnuplot: for report.md and browsers without scripts.

#include <string>

#include "reports/overview.h"

namespace mgcompare {

// Returns SVG; empty without curves or without gnuplot.
std::string draw_scaling(const Overview& overview);

}  // namespace mgcompare
