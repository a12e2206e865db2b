#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

namespace mgcompare {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;

// The errors name the file, not its folder.
std::shared_ptr<const Directory> folder_of(const std::string& path) {
  try {
    return std::make_shared<const Directory>(std::filesystem::path(path).parent_path().string());
  } catch (const FileError& error) {
    throw FileError(path, error.code());
  }
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path, const std::string& suffix)
    : AtomicFile(folder_of(path), std::filesystem::path(path).filename().string(), suffix) {}

AtomicFile::AtomicFile(Directory folder, std::string name, const std::string& suffix)
    : AtomicFile(std::make_shared<const Directory>(std::move(folder)), std::move(name), suffix) {}

AtomicFile::AtomicFile(std::shared_ptr<const Directory> folder, std::string name, const std::string& suffix)
    : folder_(std::move(folder)), name_(std::move(name)), temporary_name_(name_ + suffix), path_(folder_->path_of(name_)),
      temporary_(path_ + suffix) {
  unlinkat(folder_->descriptor(), temporary_name_.c_str(), 0);
  file_ = Descriptor(openat(folder_->descriptor(), temporary_name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (file_.number() < 0) throw FileError(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (is_pending_) unlinkat(folder_->descriptor(), temporary_name_.c_str(), 0);
}

void AtomicFile::fail(int code) {
  unlinkat(folder_->descriptor(), temporary_name_.c_str(), 0);
  is_pending_ = false;
  throw FileError(path_, code);
}

void AtomicFile::write(std::string_view bytes) {
  buffer_ += bytes;
  if (buffer_.size() >= kBufferBytes) flush();
}

void AtomicFile::flush() {
  std::size_t written = 0;
  while (written < buffer_.size()) {
    const ssize_t count = ::write(file_.number(), buffer_.data() + written, buffer_.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(count == 0 ? ENOSPC : errno);
    written += static_cast<std::size_t>(count);
  }
  buffer_.clear();
}

void AtomicFile::close() {
  flush();
  buffer_ = {};
  // Some file systems report errors of writing only here.
  if (::close(file_.release()) != 0) fail(errno);
}

void AtomicFile::rename() {
  if (renameat(folder_->descriptor(), temporary_name_.c_str(), folder_->descriptor(), name_.c_str()) != 0) fail(errno);
  is_pending_ = false;
}

void AtomicFile::commit() {
  flush();
  if (fsync(file_.number()) != 0) fail(errno);
  close();
  rename();
  // Makes the new name durable. Not every file system can sync a folder, so errors are ignored.
  fsync(folder_->descriptor());
}

void write_atomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_atomically(Directory folder, const std::string& name, std::string_view bytes) {
  AtomicFile file(std::move(folder), name);
  file.write(bytes);
  file.commit();
}

void write_in_subfolder(const std::string& path, std::string_view bytes) {
  write_atomically(Directory::subfolder_of(path), std::filesystem::path(path).filename().string(), bytes);
}

}  // namespace mgcompare
