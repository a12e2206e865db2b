#pragma once

// A folder into which files are written, held open. Files in it are named relative to it, so that they end up in this folder
// even if another one takes its path, and no symbolic link in it is followed. Links in the path of the folder itself are
// followed, because the user names it.

#include <string>

#include "base/descriptor.h"
#include "mgcompare/error.h"

namespace mgcompare {

// A file operation failed. what() is "PATH: cannot be written: REASON"; callers may add what to do.
class FileError : public Error {
 public:
  FileError(const std::string& path, int code);
  // errno of the operation.
  int code() const { return code_; }

 private:
  int code_;
};

class Directory {
 public:
  // All throw FileError.
  explicit Directory(const std::string& path);
  // The folder `name` in this one; created if it does not exist. A link of that name is an error.
  Directory subfolder(const std::string& name) const;
  // The folder of a file in a subfolder that the program made: of "RUN/records/trial-1", `records` in RUN.
  static Directory subfolder_of(const std::string& file);

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_.number(); }
  std::string path_of(const std::string& name) const;
  // Opens a regular file without hard links for appending, created if it does not exist, and returns its descriptor.
  int append(const std::string& name) const;

 private:
  Directory(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  Descriptor descriptor_;
};

}  // namespace mgcompare
