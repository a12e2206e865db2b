#pragma once

// A regular file, mapped for reading. A file that another program shortens while it is mapped ends the process with SIGBUS
// when its lost part is read, which a worker survives as a failed trial.

#include <memory>
#include <string>

#include "data/dataset.h"

namespace mgcompare {

// The bytes of the file; the mapping lives as long as they do. Throws DataError if it cannot be opened or mapped, is no
// regular file, or is empty.
SharedBytes map_file(const std::string& path);

}  // namespace mgcompare
