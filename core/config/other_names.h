#pragma once

// What other frameworks call the things of a config, which no edit distance finds.

#include <string>
#include <string_view>
#include <vector>

namespace mgcompare {

// "did you mean 'channels'?" for `filters`, or what to do in place of a thing that has no name here, such as `loss`; empty if no
// candidate is known under this name. Case, '_', '-' and a final "2d" do not count. A candidate with dots counts by its last part.
std::string other_name_hint(std::string_view written, const std::vector<std::string>& candidates);

}  // namespace mgcompare
