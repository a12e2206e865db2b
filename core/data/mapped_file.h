#pragma once

// A regular file, mapped for reading. A file that another program shortens while it is mapped ends the process with SIGBUS
// when its lost part is read, which a worker survives as a failed trial.

#include <memory>
#include <string>

#include "data/dataset.h"

namespace mgcompare {

struct Mapping {
  SharedBytes bytes;  // the mapping lives as long as they do
  MappedFile file;
};

// What is wrong with a file that is not a regular one, by its st_mode.
std::string irregular_text(unsigned mode);

// Throws DataError if the file cannot be opened or mapped, is no regular file, or is empty.
Mapping map_file(const std::string& path);

enum class FileChange {
  none,
  attributes,  // the name, owner or mode, or the times were set back: the bytes may be others
  contents
};

// What happened to the file since, under whatever name.
FileChange change_of(const MappedFile& file);
// From now on the file counts as unchanged in its present state.
void accept_change(MappedFile& file);

}  // namespace mgcompare
