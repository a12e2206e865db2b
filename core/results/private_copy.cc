#include "results/private_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/descriptor.h"
#include "base/error_text.h"
#include "results/results_store.h"
#include "results/sqlite.h"

namespace mgcompare {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

// One of the files, held open, so that no other file can get its identity.
class Source {
 public:
  explicit Source(const std::string& path) : path_(path), file_(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {
    if (file_.number() < 0 && errno != ENOENT) fail(errno);
    if (!exists()) return;
    if (fstat(file_.number(), &facts_) != 0) fail(errno);
    if (!S_ISREG(facts_.st_mode)) throw BadResults(fmt::format("{}: not a regular file", path_));
    head_ = head();
  }

  bool exists() const { return file_.number() >= 0; }
  std::int64_t size() const { return facts_.st_size; }

  // Whether the path still leads to this file, with the same header. That of a journal or log is new whenever it is applied.
  bool is_unchanged() const {
    struct stat now {};
    if (lstat(path_.c_str(), &now) != 0) return !exists() && errno == ENOENT;
    return exists() && now.st_dev == facts_.st_dev && now.st_ino == facts_.st_ino && head() == head_;
  }

  // Returns the number of bytes.
  std::int64_t copy_to(const std::string& path, std::int64_t most) const {
    const Descriptor copy(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (copy.number() < 0) fail_to_write(path, errno);
    std::vector<char> bytes(kBufferBytes);
    std::int64_t copied = 0;
    for (;;) {
      if (is_reading_interrupted()) throw ReadingStopped(path_);
      const ssize_t count = pread(file_.number(), bytes.data(), bytes.size(), copied);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail(errno);
      if (count == 0) return copied;
      if (copied + count > most) throw_too_large(path_);
      write_all(copy.number(), bytes.data(), static_cast<std::size_t>(count), path);
      copied += count;
    }
  }

  [[noreturn]] static void throw_too_large(const std::string& path) {
    throw BadResults(fmt::format("{}: was not closed by its last run, and is too large to be repaired in a copy for reading (more than "
                                 "{} MB with its journal): continue the run with --resume, which repairs it in place",
                                 path, kMostCopiedBytes >> 20));
  }

 private:
  // A header of a journal, or of a log with its salts.
  std::string head() const {
    std::array<char, 32> bytes{};
    const ssize_t count = pread(file_.number(), bytes.data(), bytes.size(), 0);
    return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }

  [[noreturn]] void fail(int code) const {
    throw BadResults(fmt::format("{}: cannot be read: {}; check the disk and the permissions of the file", path_, error_text(code)));
  }

  [[noreturn]] static void fail_to_write(const std::string& path, int code) {
    throw BadResults(fmt::format("{}: cannot be written: {}; the results need repair, which takes place in this copy: set TMPDIR to a "
                                 "folder with space",
                                 path, error_text(code)));
  }

  static void write_all(int file, const char* bytes, std::size_t size, const std::string& path) {
    while (size > 0) {
      const ssize_t count = write(file, bytes, size);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) fail_to_write(path, count == 0 ? ENOSPC : errno);
      bytes += count;
      size -= static_cast<std::size_t>(count);
    }
  }

  std::string path_;
  Descriptor file_;
  struct stat facts_ {};
  std::string head_;
};

}  // namespace

PrivateCopy::PrivateCopy(const std::string& path)
    : path_((std::filesystem::canonical(folder_.path()) / std::filesystem::path(path).filename()).string()) {
  // The database comes first: what is written to it from the log until the log is copied is in that copy, too.
  constexpr std::array kSuffixes = {"", "-journal", "-wal"};
  std::vector<Source> sources;
  for (const char* suffix : kSuffixes) sources.emplace_back(path + suffix);
  std::int64_t left = kMostCopiedBytes;
  for (const Source& source : sources)
    if (source.size() > left) Source::throw_too_large(path);
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (sources[i].exists()) left -= sources[i].copy_to(path_ + kSuffixes[i], left);
  if (!std::all_of(sources.begin(), sources.end(), [](const Source& source) { return source.is_unchanged(); }))
    throw BadResults(fmt::format("{}: changed while it was read; run the command again", path));
}

}  // namespace mgcompare
