#include "base/atomic_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "base/atomic_file.h"

namespace mgcompare {
namespace {

// Deletes the temporary files that were not renamed.
class PendingFiles {
 public:
  explicit PendingFiles(std::string folder) : folder_(std::move(folder)) {}
  ~PendingFiles() {
    for (const std::string& path : paths_) unlink(temporary(path).c_str());
  }
  PendingFiles(const PendingFiles&) = delete;
  PendingFiles& operator=(const PendingFiles&) = delete;

  void add(const std::string& name, std::string_view bytes) {
    const std::string path = (std::filesystem::path(folder_) / name).string();
    unlink(temporary(path).c_str());
    const int descriptor = open(temporary(path).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (descriptor < 0) throw FileError(path, errno);
    paths_.push_back(path);
    int problem = 0;
    while (!bytes.empty() && problem == 0) {
      const ssize_t count = write(descriptor, bytes.data(), bytes.size());
      if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
      else if (errno != EINTR || count == 0) problem = count == 0 ? ENOSPC : errno;
    }
    if (close(descriptor) != 0 && problem == 0) problem = errno;
    if (problem != 0) throw FileError(path, problem);
  }

  void commit() {
    const int folder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) throw FileError(folder_, errno);
    int problem = syncfs(folder) == 0 ? 0 : errno;
    while (problem == 0 && !paths_.empty()) {
      if (std::rename(temporary(paths_.back()).c_str(), paths_.back().c_str()) != 0) problem = errno;
      else paths_.pop_back();
    }
    fsync(folder);  // the new names; not every file system can do this
    close(folder);
    if (problem != 0) throw FileError(paths_.empty() ? folder_ : paths_.back(), problem);
  }

 private:
  static std::string temporary(const std::string& path) { return path + ".tmp"; }

  std::string folder_;
  std::vector<std::string> paths_;  // not yet renamed
};

}  // namespace

void write_all_atomically(const std::string& folder, const std::function<void(const AddFile&)>& write) {
  PendingFiles files(folder);
  write([&](const std::string& name, std::string_view bytes) { files.add(name, bytes); });
  files.commit();
}

}  // namespace mgcompare
