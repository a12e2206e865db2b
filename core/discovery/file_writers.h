#pragma once

// Who may change code that is about to run with the user's rights.

#include <filesystem>
#include <string>

namespace mgcompare {

bool is_writable_by_all(const std::filesystem::path& path);

// Throws Error, the rest of a sentence about the file ("is not used, because ..."), if every user can change the file or replace it
// by way of a folder above it. In a folder with the sticky bit, such as /tmp, others can add files but not replace these.
void check_writers(const std::string& file);

}  // namespace mgcompare
