#pragma once

// report.html: the whole report in one file that opens without a network, with charts to point at where the program was
// built with their libraries. A function of the results alone.

#include <string>

#include "reports/comparison.h"

namespace mgcompare {

// `drawing`: the scaling curves as SVG (draw_scaling); empty where there are none.
std::string html_report(const Comparison& comparison, const std::string& drawing);

}  // namespace mgcompare
