#include "data/unpacker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/error_text.h"
#include "data/dataset.h"

namespace mgcompare {
namespace {

// Maximum compression ratio of Deflate: a header that states more is wrong.
constexpr std::size_t kMaxCompression = 1032;
// What a file may unpack to: so many bytes, or so many times its size. Real samples and texts shrink to a tenth, labels to a
// hundredth.
constexpr std::size_t kMostUnpacked = 64u << 20, kMostRatio = 200;
// gzread() takes the size as unsigned int and returns int.
constexpr std::size_t kMaxRead = 1u << 30;

}  // namespace

Unpacker::Unpacker(std::string path) : path_(std::move(path)) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const int descriptor = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw_not_opened(path_, errno);
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    close(descriptor);
    throw DataError(fmt::format("{}: not a regular file", path_));
  }
  size_ = static_cast<std::size_t>(facts.st_size);
  file_ = gzdopen(descriptor, "rb");
  if (file_ == nullptr) {
    close(descriptor);
    throw DataError(fmt::format("{}: no memory to unpack it", path_));
  }
  gzbuffer(file_, 256u << 10);
  descriptor_ = descriptor;
}

Unpacker::~Unpacker() { gzclose_r(file_); }

std::size_t Unpacker::read(void* into, std::size_t bytes) {
  std::size_t count = 0;
  while (count < bytes) {
    const std::size_t wanted = std::min(bytes - count, kMaxRead);
    const int got = gzread(file_, static_cast<std::uint8_t*>(into) + count, static_cast<unsigned>(wanted));
    if (got < static_cast<int>(wanted)) check();
    if (got <= 0) break;
    hash_.add(static_cast<std::uint8_t*>(into) + count, static_cast<std::size_t>(got));
    count += static_cast<std::size_t>(got);
    offset_ += static_cast<std::size_t>(got);
    if (const std::size_t most = limit(); offset_ > most)
      throw DataError(fmt::format("{}: an archive bomb, or not the intended file: its {} bytes grow to more than {}, the limit for a "
                                  "compressed file of this size; if it is the right file, unpack it yourself and name the unpacked one",
                                  path_, size_, most));
  }
  return count;
}

bool Unpacker::at_end() {
  std::uint8_t more = 0;
  const int got = gzread(file_, &more, 1);
  if (got < 1) check();
  return got < 1;
}

void Unpacker::read_rest() {
  if (gzdirect(file_) != 0) return;
  std::vector<std::uint8_t> bytes(256u << 10);
  while (offset_ + bytes.size() <= limit() && read(bytes.data(), bytes.size()) == bytes.size()) {
  }
}

std::size_t Unpacker::limit() const { return std::max(kMostUnpacked, kMostRatio * size_); }

void Unpacker::refuse(const std::string& why) {
  read_rest();
  const bool is_packed_by_name = path_.ends_with(".gz") && gzdirect(file_) != 0;
  throw DataError(fmt::format("{}: {}{}", path_, why, is_packed_by_name ? " (its name ends in .gz, but it is no gzip file)" : ""));
}

std::size_t Unpacker::max_bytes() { return gzdirect(file_) != 0 ? size_ : size_ * kMaxCompression; }

std::size_t Unpacker::stated_bytes() {
  if (gzdirect(file_) != 0) return size_;
  // RFC 1952: a gzip stream ends with its unpacked size, little-endian.
  std::uint8_t last[4] = {};
  if (size_ < sizeof last || pread(descriptor_, last, sizeof last, static_cast<off_t>(size_ - sizeof last)) != sizeof last) return 0;
  return last[0] | std::size_t{last[1]} << 8 | std::size_t{last[2]} << 16 | std::size_t{last[3]} << 24;
}

void Unpacker::check() {
  int code = Z_OK;
  const char* text = gzerror(file_, &code);
  if (code == Z_OK || code == Z_STREAM_END) return;
  if (code == Z_BUF_ERROR)
    throw DataError(fmt::format("{}: truncated: the gzip stream ends early, after {} unpacked bytes", path_, offset_));
  // Remove the internal file name that zlib puts before the reason.
  std::string reason = code == Z_ERRNO ? error_text(errno) : text;
  if (reason.starts_with('<')) reason.erase(0, reason.find(": ") == reason.npos ? 0 : reason.find(": ") + 2);
  // The checksum at the end shows that something before it is wrong.
  if (offset_ > 0 && reason.ends_with(" check"))
    throw DataError(fmt::format("{}: the gzip stream is damaged somewhere before its end, after {} unpacked bytes or more ({})", path_,
                                offset_, reason));
  throw DataError(fmt::format("{}: the gzip stream is damaged after unpacked byte {} ({})", path_, offset_, reason));
}

}  // namespace mgcompare
