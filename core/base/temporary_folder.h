#pragma once

// A new folder below the system's temporary directory that only this user may open. The destructor removes it.

#include <string>

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
};

}  // namespace mgcompare
