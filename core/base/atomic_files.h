#pragma once

// Atomic replacement of many files in one folder, with one sync for all: a sync for each takes most of the time.

#include <functional>
#include <string>
#include <string_view>

#include "base/directory.h"

namespace mgcompare {

using AddFile = std::function<void(const std::string& name, std::string_view bytes)>;

// `write` is called once, with a function that adds a file. Afterwards each file has its new content on disk, and readers see
// the previous file or the complete new one. Throws FileError (directory.h); then no file is replaced, or some completely.
void write_all_atomically(Directory folder, const std::function<void(const AddFile&)>& write);

}  // namespace mgcompare
