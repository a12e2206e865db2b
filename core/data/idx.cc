#include "data/idx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/shape.h"
#include "data/unpacker.h"

namespace mgcompare {
namespace {

constexpr std::size_t kChunk = 1u << 20;
constexpr int kMaxDimensions = 4;
constexpr std::uint32_t kBytes = 0x0800;  // type code of unsigned bytes, before the number of dimensions

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
         static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3];
}

std::string shape_text(const std::vector<std::size_t>& shape) { return fmt::format("{}", fmt::join(shape, " x ")); }

// The number of dimensions that the first four bytes state.
int read_magic(Unpacker& file, int dimensions) {
  std::uint8_t bytes[4];
  const std::size_t got = file.read(bytes, 4);
  const int header = 4 * (1 + std::max(dimensions, 1));
  if (got < 4) file.refuse(fmt::format("truncated at byte {}: the header alone has {} bytes", got, header));
  const std::uint32_t magic = big_endian(bytes);
  const bool fits = dimensions > 0 ? magic == (kBytes | static_cast<std::uint32_t>(dimensions))
                                   : magic > kBytes && magic <= kBytes + kMaxDimensions;
  if (!fits) {
    file.refuse(dimensions > 0 ? fmt::format("wrong magic 0x{:08x} at byte 0: an IDX file of bytes in {} dimension{} begins with 0x{:08x}",
                                             magic, dimensions, dimensions == 1 ? "" : "s",
                                             kBytes | static_cast<std::uint32_t>(dimensions))
                               : fmt::format("wrong magic 0x{:08x} at byte 0: an IDX file of bytes begins with 0x00000801 to 0x{:08x}",
                                             magic, kBytes + kMaxDimensions));
  }
  return static_cast<int>(magic - kBytes);
}

IdxArray read_header(Unpacker& file, int wanted) {
  const int dimensions = read_magic(file, wanted);
  std::uint8_t header[4 * kMaxDimensions];
  const std::size_t bytes = 4 * static_cast<std::size_t>(dimensions);
  const std::size_t got = file.read(header, bytes);
  if (got < bytes)
    file.refuse(fmt::format("truncated at byte {}: the header alone has {} bytes", 4 + got, 4 + bytes));

  IdxArray array;
  std::size_t count = 1;
  const std::size_t limit = file.max_bytes();
  for (int axis = 0; axis < dimensions; ++axis) {
    const std::size_t offset = 4 * static_cast<std::size_t>(axis);
    const std::size_t extent = big_endian(header + offset);
    if (extent == 0) file.refuse(fmt::format("count 0 at byte {}: there is nothing in it", 4 + offset));
    array.shape.push_back(extent);
    // Stays above `limit` once it exceeds it; extents have 32 bits, so the product cannot overflow.
    count = count > limit ? count : count * extent;
  }
  if (count > limit) {
    file.refuse(fmt::format("wrong counts ({}) at byte 4: a file of this size can hold at most {} values", shape_text(array.shape), limit));
  }
  return array;
}

// Allocates as data arrives, so that a wrong header cannot cause a large allocation.
void read_body(Unpacker& file, IdxArray& array) {
  const std::size_t count = values_in(array.shape);
  check_fits_memory(file.path(), static_cast<double>(count));
  while (array.bytes.size() < count) {
    const std::size_t before = array.bytes.size();
    const std::size_t wanted = std::min(kChunk, count - before);
    if (array.bytes.capacity() < before + wanted) array.bytes.reserve(std::min(count, 2 * (before + wanted)));
    array.bytes.resize(before + wanted);
    const std::size_t got = file.read(array.bytes.data() + before, wanted);
    if (got < wanted) {
      file.refuse(fmt::format("truncated at byte {}: the header promises {} values ({}), {} are there", file.offset(), count,
                              shape_text(array.shape), before + got));
    }
  }
}

}  // namespace

IdxArray read_idx(const std::string& path, int dimensions) {
  Unpacker file(path);
  IdxArray array = read_header(file, dimensions);
  read_body(file, array);
  array.sha256 = file.sha256();
  if (file.at_end()) return array;
  file.refuse(fmt::format("trailing bytes from byte {} on: the header promises {} values ({}) and no more", file.offset(),
                          values_in(array.shape), shape_text(array.shape)));
}

IdxArray read_idx_header(const std::string& path, int dimensions) {
  Unpacker file(path);
  return read_header(file, dimensions);
}

Shape sample_shape_of(const IdxArray& samples) {
  Shape shape(samples.shape.begin() + 1, samples.shape.end());
  if (shape.size() == 2) shape.insert(shape.begin(), 1);
  return shape;
}

LabelledSplit read_labelled(const LabelledFiles& files, std::size_t classes) {
  IdxArray samples = read_idx(files.samples, 0);
  IdxArray labels = read_idx(files.labels, 1);
  if (samples.shape.size() < 2)
    throw DataError(fmt::format("{}: samples need two dimensions or more, and this file has one: it holds labels", files.samples));
  if (samples.shape[0] != labels.shape[0]) {
    throw DataError(fmt::format("{} holds {} samples, but {} holds {} labels (byte 4 of each): they do not belong together",
                                files.samples, samples.shape[0], files.labels, labels.shape[0]));
  }
  const auto wrong = std::find_if(labels.bytes.begin(), labels.bytes.end(),
                                  [&](std::uint8_t label) { return classes > 0 && label >= classes; });
  if (wrong != labels.bytes.end()) {
    throw DataError(fmt::format("{}: label {} at byte {}: labels go from 0 to {}", files.labels, *wrong,
                                8 + (wrong - labels.bytes.begin()), classes - 1));
  }
  LabelledSplit result;
  result.shape = sample_shape_of(samples);
  result.split.samples = samples.shape[0];
  result.split.values = SharedBytes(std::move(samples.bytes));
  result.split.targets.assign(labels.bytes.begin(), labels.bytes.end());
  result.samples_sha256 = std::move(samples.sha256);
  result.labels_sha256 = std::move(labels.sha256);
  return result;
}

}  // namespace mgcompare
