#pragma once

// Values of options that are lists: "node1,node2", "8,16,64".

#include <string>
#include <string_view>
#include <vector>

namespace mgcompare {

// The parts between commas, also empty ones; of an empty text one empty part.
std::vector<std::string> comma_list(std::string_view text);

}  // namespace mgcompare
