#include "data/idx.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/error_text.h"
#include "base/sha256.h"

namespace mgcompare {
namespace {

// Maximum compression ratio of Deflate: a header that states more is wrong.
constexpr std::size_t kMaxCompression = 1032;
constexpr std::size_t kChunk = 1u << 20;

// Reads one file, and decompresses it if needed.
class Unpacker {
 public:
  explicit Unpacker(const std::string& path) : path_(path) {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) throw DataError(fmt::format("{}: {}", path, error_text(errno)));
    struct stat facts {};
    if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
      close(descriptor);
      throw DataError(fmt::format("{}: not a regular file", path));
    }
    size_ = static_cast<std::size_t>(facts.st_size);
    file_ = gzdopen(descriptor, "rb");
    if (file_ == nullptr) {
      close(descriptor);
      throw DataError(fmt::format("{}: no memory to unpack it", path));
    }
    gzbuffer(file_, 256u << 10);
  }
  ~Unpacker() { gzclose_r(file_); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // Reads `bytes`, or fewer at the end of the file.
  std::size_t read(void* into, std::size_t bytes) {
    const int got = gzread(file_, into, static_cast<unsigned>(bytes));
    if (got < static_cast<int>(bytes)) check();
    const std::size_t count = got < 0 ? 0 : static_cast<std::size_t>(got);
    offset_ += count;
    return count;
  }

  std::size_t offset() const { return offset_; }
  std::size_t max_bytes() { return gzdirect(file_) != 0 ? size_ : size_ * kMaxCompression; }

 private:
  void check() {
    int code = Z_OK;
    const char* text = gzerror(file_, &code);
    if (code == Z_OK || code == Z_STREAM_END) return;
    if (code == Z_BUF_ERROR) {
      throw DataError(
          fmt::format("{}: truncated: the gzip stream ends early, after {} unpacked bytes", path_, offset_));
    }
    // Remove the internal file name that zlib puts before the reason.
    std::string_view reason = code == Z_ERRNO ? std::strerror(errno) : text;
    if (reason.starts_with('<')) reason.remove_prefix(std::min(reason.find(": ") + 2, reason.size()));
    throw DataError(fmt::format("{}: the gzip stream is damaged after unpacked byte {} ({})", path_, offset_, reason));
  }

  std::string path_;
  gzFile file_ = nullptr;
  std::size_t size_ = 0;
  std::size_t offset_ = 0;
};

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
         static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3];
}

std::string shape_text(const std::vector<std::size_t>& shape) { return fmt::format("{}", fmt::join(shape, " x ")); }

// Allocates as data arrives, so that a wrong header cannot cause a large allocation.
void read_body(Unpacker& file, const std::string& path, std::size_t count, IdxArray& array, Sha256& hash) {
  while (array.bytes.size() < count) {
    const std::size_t before = array.bytes.size();
    const std::size_t wanted = std::min(kChunk, count - before);
    if (array.bytes.capacity() < before + wanted) array.bytes.reserve(std::min(count, 2 * (before + wanted)));
    array.bytes.resize(before + wanted);
    const std::size_t got = file.read(array.bytes.data() + before, wanted);
    hash.add(array.bytes.data() + before, got);
    if (got < wanted) {
      throw DataError(fmt::format("{}: truncated at byte {}: the header promises {} values ({}), {} are there", path,
                                  file.offset(), count, shape_text(array.shape), before + got));
    }
  }
}

}  // namespace

IdxArray read_idx(const std::string& path, int dimensions, std::size_t max_bytes) {
  Unpacker file(path);
  Sha256 hash;
  std::uint8_t header[4 * 4];
  const std::size_t header_bytes = 4 * (1 + static_cast<std::size_t>(dimensions));
  const std::size_t got = file.read(header, header_bytes);
  const std::uint32_t expected = 0x0800u | static_cast<std::uint32_t>(dimensions);
  if (got >= 4 && big_endian(header) != expected) {
    throw DataError(
        fmt::format("{}: wrong magic 0x{:08x} at byte 0: an IDX file of bytes in {} dimension{} begins with 0x{:08x}",
                    path, big_endian(header), dimensions, dimensions == 1 ? "" : "s", expected));
  }
  if (got < header_bytes) {
    throw DataError(fmt::format("{}: truncated at byte {}: the header alone has {} bytes", path, got, header_bytes));
  }
  hash.add(header, header_bytes);

  IdxArray array;
  std::size_t count = 1;
  const std::size_t limit = std::min(max_bytes, file.max_bytes());
  for (int axis = 0; axis < dimensions; ++axis) {
    const std::size_t offset = 4 + 4 * static_cast<std::size_t>(axis);
    const std::size_t extent = big_endian(header + offset);
    if (extent == 0) throw DataError(fmt::format("{}: count 0 at byte {}: there is nothing in it", path, offset));
    array.shape.push_back(extent);
    // Stays above `limit` once it exceeds it; extents have 32 bits, so the product cannot overflow.
    count = count > limit ? count : count * extent;
  }
  if (count > limit) {
    throw DataError(fmt::format("{}: wrong counts ({}) at byte 4: a file of this size can hold at most {} values", path,
                                shape_text(array.shape), limit));
  }
  read_body(file, path, count, array, hash);
  std::uint8_t more = 0;
  if (file.read(&more, 1) != 0) {
    throw DataError(fmt::format("{}: trailing bytes from byte {} on: the header promises {} values ({}) and no more",
                                path, file.offset() - 1, count, shape_text(array.shape)));
  }
  array.sha256 = hash.digest();
  return array;
}

LabelledSplit read_labelled(const LabelledFiles& files, std::size_t classes) {
  IdxArray images = read_idx(files.images, 3);
  IdxArray labels = read_idx(files.labels, 1);
  if (images.shape[0] != labels.shape[0]) {
    throw DataError(
        fmt::format("{} holds {} images, but {} holds {} labels (byte 4 of each): they do not belong together",
                    files.images, images.shape[0], files.labels, labels.shape[0]));
  }
  const auto wrong =
      std::find_if(labels.bytes.begin(), labels.bytes.end(), [&](std::uint8_t label) { return label >= classes; });
  if (wrong != labels.bytes.end()) {
    throw DataError(fmt::format("{}: label {} at byte {}: labels go from 0 to {}", files.labels, *wrong,
                                8 + (wrong - labels.bytes.begin()), classes - 1));
  }
  LabelledSplit result;
  result.split.sample_shape = {1, images.shape[1], images.shape[2]};
  result.split.samples = images.shape[0];
  result.split.bytes = std::move(images.bytes);
  result.split.labels = std::move(labels.bytes);
  result.images_sha256 = std::move(images.sha256);
  result.labels_sha256 = std::move(labels.sha256);
  return result;
}

}  // namespace mgcompare
