#pragma once

// The scaling curves as one still picture, drawn by gnuplot: for readers without scripts, for mail and for report.md.

#include <string>

#include "reports/comparison.h"

namespace mgcompare {

// SVG; empty where there is no curve or no gnuplot.
std::string draw_scaling(const Comparison& comparison);

}  // namespace mgcompare
