#pragma once

// Names of hosts, which become arguments of other programs.

#include <string_view>

namespace mgcompare {

// As RFC 1123 has it: labels of letters, digits and '-' that begin and end with neither '-' nor another sign, with dots between them.
// Addresses of IPv4 fit too.
bool is_host_name(std::string_view name);

}  // namespace mgcompare
