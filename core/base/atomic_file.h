#pragma once

// Atomic replacement of a file: readers see the previous file or the complete new one, also after a crash or a power failure.

#include <memory>
#include <string>
#include <string_view>

#include "base/directory.h"

namespace mgcompare {

// Writes to a temporary file in the same folder. commit() syncs it to disk and renames it to `path`. Without commit(), the
// destructor deletes the temporary file and leaves `path` as it was. Not thread-safe. write_all_atomically() (atomic_files.h)
// writes many with one sync.
class AtomicFile {
 public:
  // The temporary file is `path` + `suffix`; one that an interrupted writer left is deleted first. Writers of one path that
  // may run at the same time need different suffixes. The constructor, write(), flush() and commit() throw FileError, which
  // names `path`; no temporary file is left then.
  explicit AtomicFile(const std::string& path, const std::string& suffix = ".tmp");
  // The file `name` in this folder.
  AtomicFile(Directory folder, std::string name, const std::string& suffix = ".tmp");
  AtomicFile(std::shared_ptr<const Directory> folder, std::string name, const std::string& suffix = ".tmp");
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  // Passes buffered bytes to the operating system, for readers of temporary_path().
  void flush();
  // At most once; nothing may be written afterwards.
  void commit();
  // commit() in parts, for those who sync many files at once: close(), the sync of their file system, and rename().
  void close();
  void rename();

  // For libraries that open files themselves; do not mix with write().
  const std::string& temporary_path() const { return temporary_; }

 private:
  [[noreturn]] void fail(int code);

  std::shared_ptr<const Directory> folder_;
  std::string name_, temporary_name_;
  std::string path_, temporary_;    // of both, for messages and for temporary_path()
  std::string buffer_;
  Descriptor file_;
  bool is_pending_ = true;          // the temporary file exists
};

// The same in one call.
void write_atomically(const std::string& path, std::string_view bytes);
void write_atomically(Directory folder, const std::string& name, std::string_view bytes);
// For a file in a subfolder of a run, which the program made (Directory::subfolder_of).
void write_in_subfolder(const std::string& path, std::string_view bytes);

}  // namespace mgcompare
