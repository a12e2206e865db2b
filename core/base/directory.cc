#include "base/directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/error_text.h"

namespace mgcompare {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

std::string reason_of(int code) {
  switch (code) {
    case ELOOP: return "it is a symbolic link, and links are not followed here; remove it";
    case EMLINK: return "it has a second name, which may be outside of this directory; remove it";
    case ENXIO:
    case EINVAL: return "it is not a regular file; remove it";
    default: return error_text(code);
  }
}

}  // namespace

FileError::FileError(const std::string& path, int code)
    : Error(path + ": cannot be written: " + reason_of(code)), code_(code) {}

Directory::Directory(const std::string& path) : path_(path), descriptor_(open(path.empty() ? "." : path.c_str(), kFolder)) {
  if (descriptor() < 0) throw FileError(path, errno);
}

Directory Directory::subfolder(const std::string& name) const {
  if (mkdirat(descriptor(), name.c_str(), 0755) != 0 && errno != EEXIST) throw FileError(path_of(name), errno);
  const int opened = openat(descriptor(), name.c_str(), kFolder | O_NOFOLLOW);
  if (opened >= 0) return Directory(path_of(name), opened);
  // The system does not tell a link from another file that is no folder.
  const int reason = errno;
  struct stat facts {};
  const bool is_link = fstatat(descriptor(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(facts.st_mode);
  throw FileError(path_of(name), is_link ? ELOOP : reason);
}

Directory Directory::subfolder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return Directory(folder.parent_path().string()).subfolder(folder.filename().string());
}

std::string Directory::path_of(const std::string& name) const { return (std::filesystem::path(path_) / name).string(); }

int Directory::append(const std::string& name) const {
  // Without O_NONBLOCK, opening a named pipe would wait for its reader.
  const int file =
      openat(descriptor(), name.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
  if (file < 0) throw FileError(path_of(name), errno);
  struct stat facts {};
  const bool is_known = fstat(file, &facts) == 0;
  // A file with a second name may be outside of this folder.
  if (is_known && S_ISREG(facts.st_mode) && facts.st_nlink == 1) return file;
  close(file);
  throw FileError(path_of(name), is_known && S_ISREG(facts.st_mode) ? EMLINK : EINVAL);
}

}  // namespace mgcompare
