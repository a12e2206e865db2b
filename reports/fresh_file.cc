#include "reports/fresh_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "results/results_store.h"

namespace mgcompare {
namespace {

constexpr std::size_t kWorthACall = 1 << 16;

}  // namespace

FreshFile::FreshFile(const std::string& path)
    : path_(path), fresh_(path + ".tmp"), file_(open(fresh_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644)) {
  if (file_ < 0) fail(errno);
}

FreshFile::~FreshFile() {
  if (file_ < 0) return;
  close(file_);
  unlink(fresh_.c_str());
}

void FreshFile::fail(int reason) {
  if (file_ >= 0) close(file_);
  file_ = -1;
  unlink(fresh_.c_str());
  throw NotWritable(fmt::format("{}: cannot be written: {}; the results are kept, and `mgcompare report` writes it again",
                                path_, std::strerror(reason)));
}

void FreshFile::write(std::string_view text) {
  waiting_ += text;
  if (waiting_.size() >= kWorthACall) flush();
}

void FreshFile::flush() {
  std::size_t written = 0;
  while (written < waiting_.size()) {
    const ssize_t bytes = ::write(file_, waiting_.data() + written, waiting_.size() - written);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) fail(bytes == 0 ? ENOSPC : errno);
    written += static_cast<std::size_t>(bytes);
  }
  waiting_.clear();
}

void FreshFile::finish() {
  flush();
  if (fsync(file_) != 0) fail(errno);
  if (close(std::exchange(file_, -1)) != 0) fail(errno);
  if (rename(fresh_.c_str(), path_.c_str()) != 0) fail(errno);
  // The name is on the disk when its folder is.
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const int directory = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  fsync(directory);
  close(directory);
}

void write_file(const std::string& path, std::string_view text) {
  FreshFile file(path);
  file.write(text);
  file.finish();
}

}  // namespace mgcompare
