#pragma once

// The manual page mgcompare(1).

#include <string>

namespace mgcompare {

// In the macros of man(7).
std::string manual_page();

}  // namespace mgcompare
