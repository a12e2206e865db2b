#pragma once

// A copy of a database for reading. After a fault or a kill a database is complete only together with its journal or log,
// which SQLite applies only where it may write. A run is read without changing its folder, which may also be read-only or
// somebody else's. So SQLite gets a copy of these files, in a folder that only this user can open.

#include <cstdint>
#include <string>

#include "base/temporary_folder.h"

namespace mgcompare {

// Of all copied files together.
inline constexpr std::int64_t kMostCopiedBytes = std::int64_t{1} << 30;

class PrivateCopy {
 public:
  // Copies the database `path` and the files of SQLite beside it. Throws BadResults, also if another process changes them
  // meanwhile, and ReadingStopped. The process must have no connection to this database: closing its files would release
  // that connection's locks.
  explicit PrivateCopy(const std::string& path);
  // Without symbolic links.
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  std::string path_;
};

}  // namespace mgcompare
