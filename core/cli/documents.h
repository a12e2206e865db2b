#pragma once

// The installed documentation.

#include <string>
#include <string_view>

namespace mgcompare {

// The text with the paths of the installed documents in place of "docs/NAME.md". `prefix`: of the installation; documents that it does not have
// stay as they are, as in the sources, where that path is right.
std::string with_documents(std::string_view text, const std::string& prefix);

}  // namespace mgcompare
