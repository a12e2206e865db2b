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
#include "data/mapped_file.h"

namespace mgcompare {
namespace {

// Maximum compression ratio of Deflate: a header that states more is wrong.
constexpr std::size_t kMaxCompression = 1032;
// What a file may unpack to: so many bytes, or so many times its size. Real samples and texts shrink to a tenth, labels to a
// hundredth.
constexpr std::size_t kMostUnpacked = 64u << 20, kMostRatio = 200;
constexpr std::size_t kPackedBytes = 256u << 10;  // read at a time
constexpr std::uint8_t kMagic[] = {0x1f, 0x8b};
constexpr int kGzip = 15 + 16;      // inflateInit2(): the largest window, and gzip's header and checksum
// Sizes of one call to zlib (unsigned int) and read().
constexpr std::size_t kMaxRead = 1u << 30;

}  // namespace

Unpacker::Unpacker(std::string path) : path_(std::move(path)) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const int descriptor = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw_not_opened(path_, errno);
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    close(descriptor);
    throw DataError(fmt::format("{}: {}", path_, irregular_text(facts.st_mode)));
  }
  size_ = static_cast<std::size_t>(facts.st_size);
  descriptor_ = descriptor;
  std::uint8_t first[sizeof kMagic] = {};
  packed_ = pread(descriptor_, first, sizeof first, 0) == sizeof first && std::equal(first, std::end(first), kMagic);
  if (!packed_) return;
  if (inflateInit2(&stream_, kGzip) != Z_OK) {
    close(descriptor_);
    throw DataError(fmt::format("{}: no memory to unpack it", path_));
  }
  packed_bytes_.resize(kPackedBytes);
}

Unpacker::~Unpacker() {
  if (packed_) inflateEnd(&stream_);
  close(descriptor_);
}

std::size_t Unpacker::read_file(std::uint8_t* into, std::size_t bytes) const {
  std::size_t count = 0;
  while (count < bytes) {
    const ssize_t got = ::read(descriptor_, into + count, std::min(bytes - count, kMaxRead));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw DataError(fmt::format("{}: cannot be read ({})", path_, error_text(errno)));
    if (got == 0) break;
    count += static_cast<std::size_t>(got);
  }
  return count;
}

bool Unpacker::load() {
  if (stream_.avail_in > 0) return true;
  const std::size_t got = read_file(packed_bytes_.data(), packed_bytes_.size());
  stream_.next_in = packed_bytes_.data();
  stream_.avail_in = static_cast<unsigned>(got);
  loaded_ += got;
  return got > 0;
}

void Unpacker::end_member() {
  if (!load()) {
    ended_ = true;
    return;
  }
  const std::size_t from = loaded_ - stream_.avail_in;
  // Archives may be padded with zeros.
  const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
  if (is_zero(*stream_.next_in)) {
    while (load() && std::all_of(stream_.next_in, stream_.next_in + stream_.avail_in, is_zero)) stream_.avail_in = 0;
    ended_ = stream_.avail_in == 0;
  } else if (*stream_.next_in == kMagic[0]) {
    inflateReset(&stream_);
    return;
  }
  if (!ended_)
    throw DataError(fmt::format("{}: damaged, or something was appended: from byte {} of {} on it is no gzip stream", path_, from, size_));
}

std::size_t Unpacker::unpack(std::uint8_t* into, std::size_t bytes) {
  std::size_t count = 0;
  while (count < bytes && !ended_) {
    const bool more = load();
    stream_.next_out = into + count;
    stream_.avail_out = static_cast<unsigned>(std::min(bytes - count, kMaxRead));
    const int code = inflate(&stream_, Z_NO_FLUSH);
    const auto got = static_cast<std::size_t>(stream_.next_out - (into + count));
    count += got;
    offset_ += got;
    if (code == Z_STREAM_END) end_member();
    else if (code == Z_MEM_ERROR) throw DataError(fmt::format("{}: no memory to unpack it", path_));
    else if (code != Z_OK && code != Z_BUF_ERROR) throw_damaged();
    else if (!more && got == 0)
      throw DataError(fmt::format("{}: truncated: the gzip stream ends early, after {} unpacked bytes", path_, offset_));
  }
  return count;
}

std::size_t Unpacker::read_plain(std::uint8_t* into, std::size_t bytes) {
  const std::size_t count = read_file(into, bytes);
  offset_ += count;
  return count;
}

std::size_t Unpacker::read(void* into, std::size_t bytes) {
  auto* const to = static_cast<std::uint8_t*>(into);
  std::size_t count = 0;
  while (count < bytes) {
    // In pieces, so that a bomb does not unpack all that was asked for.
    const std::size_t wanted = std::min(bytes - count, kMaxRead);
    const std::size_t got = packed_ ? unpack(to + count, wanted) : read_plain(to + count, wanted);
    hash_.add(to + count, got);
    count += got;
    if (const std::size_t most = limit(); packed_ && offset_ > most)
      throw DataError(fmt::format("{}: an archive bomb, or not the intended file: its {} bytes grow to more than {}, the limit for a "
                                  "compressed file of this size; if it is the right file, unpack it yourself and name the unpacked one",
                                  path_, size_, most));
    if (got < wanted) break;
  }
  return count;
}

bool Unpacker::at_end() {
  std::uint8_t more = 0;
  if ((packed_ ? unpack(&more, 1) : read_plain(&more, 1)) == 0) return true;
  --offset_;
  return false;
}

void Unpacker::read_rest() {
  if (!packed_) return;
  std::vector<std::uint8_t> bytes(256u << 10);
  while (offset_ + bytes.size() <= limit() && read(bytes.data(), bytes.size()) == bytes.size()) {
  }
}

std::size_t Unpacker::limit() const { return std::max(kMostUnpacked, kMostRatio * size_); }

void Unpacker::refuse(const std::string& why) {
  read_rest();
  const bool is_packed_by_name = path_.ends_with(".gz") && !packed_;
  throw DataError(fmt::format("{}: {}{}", path_, why, is_packed_by_name ? " (its name ends in .gz, but it is no gzip file)" : ""));
}

std::size_t Unpacker::max_bytes() { return !packed_ ? size_ : size_ * kMaxCompression; }

std::size_t Unpacker::stated_bytes() {
  if (!packed_) return size_;
  // RFC 1952: a gzip stream ends with its unpacked size, little-endian.
  std::uint8_t last[4] = {};
  if (size_ < sizeof last || pread(descriptor_, last, sizeof last, static_cast<off_t>(size_ - sizeof last)) != sizeof last) return 0;
  return last[0] | std::size_t{last[1]} << 8 | std::size_t{last[2]} << 16 | std::size_t{last[3]} << 24;
}

void Unpacker::throw_damaged() const {
  const std::string reason = stream_.msg == nullptr ? "no Deflate data" : stream_.msg;
  // The checksum at the end shows that something before it is wrong.
  if (offset_ > 0 && reason.ends_with(" check"))
    throw DataError(fmt::format("{}: the gzip stream is damaged somewhere before its end, after {} unpacked bytes or more ({})", path_,
                                offset_, reason));
  throw DataError(fmt::format("{}: the gzip stream is damaged after unpacked byte {} ({})", path_, offset_, reason));
}

}  // namespace mgcompare
