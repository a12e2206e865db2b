#pragma once

// report.html: the whole report in one file that needs no network, with interactive charts if the program was built with the
// chart libraries. Depends on the results only.

#include <string>

#include "reports/overview.h"

namespace mgcompare {

// `drawing`: the scaling curves as SVG (draw_scaling()); empty if there are none.
std::string html_report(const Overview& overview, const std::string& drawing);

}  // namespace mgcompare
