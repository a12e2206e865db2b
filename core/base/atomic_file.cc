#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace mgcompare {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;

// Makes the new name durable. Not every file system can sync a folder, so errors are ignored.
void sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

FileError::FileError(const std::string& path, int code)
    : Error(path + ": cannot be written: " + std::strerror(code)), code_(code) {}

AtomicFile::AtomicFile(std::string path, const std::string& suffix)
    : path_(std::move(path)), temporary_(path_ + suffix) {
  unlink(temporary_.c_str());
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw FileError(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void AtomicFile::fail(int code) {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  unlink(temporary_.c_str());
  throw FileError(path_, code);
}

void AtomicFile::write(std::string_view bytes) {
  buffer_ += bytes;
  if (buffer_.size() >= kBufferBytes) flush();
}

void AtomicFile::flush() {
  std::size_t written = 0;
  while (written < buffer_.size()) {
    const ssize_t count = ::write(descriptor_, buffer_.data() + written, buffer_.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(count == 0 ? ENOSPC : errno);
    written += static_cast<std::size_t>(count);
  }
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  if (fsync(descriptor_) != 0) fail(errno);
  if (close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  sync_folder_of(path_);
}

void write_atomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace mgcompare
