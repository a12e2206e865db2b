#pragma once

// Which libraries the plugins of this process have brought. Call in a worker only, one thread at a time.

#include <set>
#include <string>

#include "mgcompare/error.h"

namespace mgcompare {

// A plugin needs a library of its own, and another plugin has loaded one of the same name. In a new worker it can be opened.
class ConfusedLibraries : public Error {
 public:
  using Error::Error;
};

// Throws ConfusedLibraries if the loader would give this plugin, which is not open yet, another plugin's library for its own. A
// library that the program itself has loaded is the same in every worker.
void expect_own_libraries(const std::string& plugin);

// Remembers the libraries that are loaded during its life, which is the opening of a plugin.
class LibraryWatch {
 public:
  LibraryWatch();
  ~LibraryWatch();
  LibraryWatch(const LibraryWatch&) = delete;
  LibraryWatch& operator=(const LibraryWatch&) = delete;

 private:
  std::set<std::string> before_;
};

}  // namespace mgcompare
