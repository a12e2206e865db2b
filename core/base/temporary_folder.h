#pragma once

// A new folder below the system's temporary directory that only this user may open. The destructor removes it. A process that is killed
// cannot: the next one of the same user that makes such a folder removes those of ended processes that are older than a day.

#include <string>

#include "base/descriptor.h"

namespace mgcompare {

class TemporaryFolder {
 public:
  TemporaryFolder();                // throws Error
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Descriptor lock_;                 // of the folder, as long as this process lives
};

}  // namespace mgcompare
