#include "reports/assets.h"

// Defined in assets.S.
extern "C" {
extern const char mgcompare_page_template[], mgcompare_page_template_end[];
extern const char mgcompare_page_style[], mgcompare_page_style_end[];
extern const char mgcompare_page_script[], mgcompare_page_script_end[];
extern const char mgcompare_chart_script[], mgcompare_chart_script_end[];
}

namespace mgcompare::assets {
namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::string_view page_template() { return between(mgcompare_page_template, mgcompare_page_template_end); }
std::string_view page_style() { return between(mgcompare_page_style, mgcompare_page_style_end); }
std::string_view page_script() { return between(mgcompare_page_script, mgcompare_page_script_end); }
std::string_view chart_script() { return between(mgcompare_chart_script, mgcompare_chart_script_end); }

}  // namespace mgcompare::assets
