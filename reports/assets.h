#pragma once

// The files in assets/, embedded in the program.

#include <string_view>

namespace mgcompare::assets {

std::string_view page_template();   // mustache
std::string_view page_style();
std::string_view page_script();
std::string_view chart_script();    // the chart libraries; empty in a build without them

}  // namespace mgcompare::assets
