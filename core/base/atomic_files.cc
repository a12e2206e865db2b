#include "base/atomic_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <vector>

namespace mgcompare {
namespace {

// Deletes the temporary files that were not renamed.
class PendingFiles {
 public:
  explicit PendingFiles(const Directory& folder) : folder_(folder) {}
  ~PendingFiles() {
    for (const std::string& name : names_) unlinkat(folder_.descriptor(), temporary(name).c_str(), 0);
  }
  PendingFiles(const PendingFiles&) = delete;
  PendingFiles& operator=(const PendingFiles&) = delete;

  void add(const std::string& name, std::string_view bytes) {
    unlinkat(folder_.descriptor(), temporary(name).c_str(), 0);
    const int file =
        openat(folder_.descriptor(), temporary(name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0) throw FileError(folder_.path_of(name), errno);
    names_.push_back(name);
    int problem = 0;
    while (!bytes.empty() && problem == 0) {
      const ssize_t count = write(file, bytes.data(), bytes.size());
      if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
      else if (errno != EINTR || count == 0) problem = count == 0 ? ENOSPC : errno;
    }
    if (close(file) != 0 && problem == 0) problem = errno;
    if (problem != 0) throw FileError(folder_.path_of(name), problem);
  }

  void commit() {
    const int folder = folder_.descriptor();
    int problem = syncfs(folder) == 0 ? 0 : errno;
    while (problem == 0 && !names_.empty()) {
      if (renameat(folder, temporary(names_.back()).c_str(), folder, names_.back().c_str()) != 0) problem = errno;
      else names_.pop_back();
    }
    fsync(folder);  // the new names; not every file system can do this
    if (problem != 0) throw FileError(names_.empty() ? folder_.path() : folder_.path_of(names_.back()), problem);
  }

 private:
  static std::string temporary(const std::string& name) { return name + ".tmp"; }

  const Directory& folder_;
  std::vector<std::string> names_;  // not yet renamed
};

}  // namespace

void write_all_atomically(const Directory& folder, const std::function<void(const AddFile&)>& write) {
  PendingFiles files(folder);
  write([&](const std::string& name, std::string_view bytes) { files.add(name, bytes); });
  files.commit();
}

}  // namespace mgcompare
